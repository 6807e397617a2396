//! Tables and functions that are exchanged with the package `datafusion` of Python.
//!
//! A capsule of another major version has another layout, and reading it crashes the process. So the version of the installed
//! package is compared before a capsule is given, and the version in a capsule before it is used.

use std::sync::{Arc, LazyLock};

use datafusion::catalog::TableProvider;
use datafusion::execution::TaskContextProvider;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;
use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use datafusion_ffi::table_provider::FFI_TableProvider;
use datafusion_ffi::udaf::FFI_AggregateUDF;
use datafusion_ffi::udf::FFI_ScalarUDF;
use datafusion_python_util::{
    create_logical_extension_capsule, ffi_logical_codec_from_pycapsule, table_provider_from_pycapsule,
};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use throng_datafusion::functions::{FrequencyFunction, GeneralizeFunction, KAnonymityFunction, PSensitivityFunction};
use throng_job::Kind;

use crate::errors::{class_of, failure, is_passed_on};
use crate::runtime::runtime;

/// The session in which foreign tables decode plans. Their handles hold weak references to it.
static SESSION: LazyLock<Arc<SessionContext>> = LazyLock::new(|| Arc::new(SessionContext::new()));

/// Raises an exception if the installed package `datafusion` has another major version than this one was built with.
#[pyfunction]
pub fn check_datafusion(py: Python<'_>) -> PyResult<()> {
    let Ok(found) = py.import("importlib.metadata")?.call_method1("version", ("datafusion",)) else { return Ok(()) };
    let (found, built_with) = (found.extract::<String>()?, datafusion_ffi::version());
    if found.split('.').next() == Some(built_with.to_string().as_str()) {
        return Ok(());
    }
    let text = format!(
        "datafusion {found} can't exchange tables with this version of throng_privacy, which needs datafusion \
         {built_with}; install datafusion=={built_with}.*, or read the release as an Arrow stream: \
         SessionContext().from_arrow(release)"
    );
    Err(failure(py, Kind::BadQuery, &text))
}

/// Returns a table as a capsule for a session of `datafusion`.
pub(crate) fn table_capsule<'py>(
    py: Python<'py>,
    table: Arc<dyn TableProvider>,
    session: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyCapsule>> {
    check_datafusion(py)?;
    let codec = ffi_logical_codec_from_pycapsule(session, None)?;
    let table = FFI_TableProvider::new_with_ffi_codec(table, false, Some(runtime(py)?), codec);
    PyCapsule::new_with_value(py, table, c"datafusion_table_provider")
}

/// Takes a table from an object with `__datafusion_table_provider__`.
pub(crate) fn foreign_table(object: &Bound<'_, PyAny>) -> PyResult<Arc<dyn TableProvider>> {
    let py = object.py();
    check_datafusion(py)?;
    let session = Bound::new(py, NativeSession)?.into_any();
    let refused = |what: &str| failure(py, Kind::BadQuery, what);
    match table_provider_from_pycapsule(object.clone(), session) {
        Ok(Some(table)) => Ok(table),
        Ok(None) => Err(refused("the object gives no table of DataFusion")),
        Err(error) if error.is_instance_of::<PyImportError>(py) => {
            let text = format!(
                "the table comes from another version of DataFusion than {}; hand over an Arrow stream of it instead",
                datafusion_ffi::version()
            );
            Err(refused(&text))
        }
        Err(error) if is_passed_on(py, &error) => Err(error),
        // The message of another library may quote values.
        Err(error) => Err(refused(&format!("the object gives no table of DataFusion ({})", class_of(py, &error)))),
    }
}

/// What a foreign table asks of the session that it is opened in.
#[pyclass(frozen, module = "throng_privacy._native")]
struct NativeSession;

#[pymethods]
impl NativeSession {
    #[pyo3(signature = (*_args))]
    fn __datafusion_logical_extension_codec__<'py>(
        &self,
        py: Python<'py>,
        _args: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let session: Arc<dyn TaskContextProvider> = Arc::clone(&SESSION) as _;
        create_logical_extension_capsule(py, &FFI_LogicalExtensionCodec::new_default(&session))
    }
}

/// The functions of Throng that plain SQL can call.
#[pyclass(frozen, module = "throng_privacy._native")]
pub(crate) struct SqlFunctions;

#[pymethods]
impl SqlFunctions {
    /// Capsules of the scalar functions.
    #[staticmethod]
    fn scalar(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyCapsule>>> {
        check_datafusion(py)?;
        let generalize = Arc::new(ScalarUDF::new_from_impl(GeneralizeFunction::default()));
        Ok(vec![PyCapsule::new_with_value(py, FFI_ScalarUDF::from(generalize), c"datafusion_scalar_udf")?])
    }

    /// Capsules of the aggregate functions.
    #[staticmethod]
    fn aggregate(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyCapsule>>> {
        check_datafusion(py)?;
        let functions = [
            AggregateUDF::new_from_impl(KAnonymityFunction::default()),
            AggregateUDF::new_from_impl(PSensitivityFunction::default()),
        ];
        let capsule = |function| {
            PyCapsule::new_with_value(py, FFI_AggregateUDF::from(Arc::new(function)), c"datafusion_aggregate_udf")
        };
        let of_frequencies = FrequencyFunction::all().map(AggregateUDF::new_from_impl);
        functions.into_iter().chain(of_frequencies).map(capsule).collect()
    }
}
