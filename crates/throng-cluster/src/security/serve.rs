//! Servers of a secured cluster.

use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use axum::extract::ConnectInfo;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_core::utils::create_grpc_server;
use ballista_executor::ArrowFlightServerProvider;
use ballista_executor::flight_service::BallistaFlightService;
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Status};

use super::Security;
use crate::settings::{KEEPALIVE_SECONDS, MESSAGE_LIMIT};

/// Serves a scheduler until it fails.
pub(crate) async fn serve_scheduler(
    listener: TcpListener,
    scheduler: SchedulerServer<LogicalPlanNode, PhysicalPlanNode>,
    security: &Security,
) -> Result<(), BallistaError> {
    let keepalive = Some(Duration::from_secs(KEEPALIVE_SECONDS as u64));
    let service = SchedulerGrpcServer::new(scheduler)
        .max_encoding_message_size(MESSAGE_LIMIT as usize)
        .max_decoding_message_size(MESSAGE_LIMIT as usize);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true)).with_keepalive(keepalive);
    let mut server = security.server(Server::builder().http2_keepalive_interval(keepalive))?;
    let service = InterceptedService::new(service, Admission::new(security));
    Ok(server.add_service(service).serve_with_incoming(incoming).await?)
}

/// Returns the server of an executor's shuffles.
pub(crate) fn flight_server(security: &Security) -> Arc<ArrowFlightServerProvider> {
    let security = security.clone();
    Arc::new(move |work_dir, address, mut shutdown, config| {
        let security = security.clone();
        tokio::spawn(async move {
            let service = FlightServiceServer::new(BallistaFlightService::new(work_dir))
                .max_encoding_message_size(MESSAGE_LIMIT as usize)
                .max_decoding_message_size(MESSAGE_LIMIT as usize);
            let service = InterceptedService::new(service, Admission::new(&security));
            let mut server = security.server(create_grpc_server(&config))?;
            Ok(server.add_service(service).serve_with_shutdown(address, shutdown.recv()).await?)
        })
    })
}

/// Refuses requests without a token of the cluster, if it has tokens.
#[derive(Clone)]
struct Admission(Security);

impl Admission {
    fn new(security: &Security) -> Self {
        Self(security.clone())
    }
}

impl Interceptor for Admission {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(tokens) = &self.0.tokens {
            let user_agent = request.metadata().get("user-agent").and_then(|value| value.to_str().ok());
            if !user_agent.is_some_and(|user_agent| tokens.accepts(user_agent)) {
                return Err(Status::unauthenticated("the token of the cluster is missing or wrong"));
            }
        }
        // Ballista looks up the address of an executor here, where its own server puts it.
        if let Some(address) = request.remote_addr() {
            request.extensions_mut().insert(ConnectInfo(address));
        }
        Ok(request)
    }
}
