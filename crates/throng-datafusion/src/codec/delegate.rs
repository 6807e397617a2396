//! Functions in plans, which codecs leave to their inner codec.

/// Implements the methods of a codec that encode and decode functions, by `self.inner`. They are the same for logical and
/// physical plans.
macro_rules! delegate_functions {
    ($($decode:ident, $encode:ident, $function:ty;)+) => {$(
        fn $decode(&self, name: &str, bytes: &[u8]) -> Result<Arc<$function>> {
            self.inner.$decode(name, bytes)
        }

        fn $encode(&self, node: &$function, bytes: &mut Vec<u8>) -> Result<()> {
            self.inner.$encode(node, bytes)
        }
    )+};
    () => {
        delegate_functions! {
            try_decode_udf, try_encode_udf, datafusion::logical_expr::ScalarUDF;
            try_decode_udaf, try_encode_udaf, datafusion::logical_expr::AggregateUDF;
            try_decode_udwf, try_encode_udwf, datafusion::logical_expr::WindowUDF;
            try_decode_higher_order_function, try_encode_higher_order_function, datafusion::logical_expr::HigherOrderUDF;
        }
    };
}

pub(super) use delegate_functions;
