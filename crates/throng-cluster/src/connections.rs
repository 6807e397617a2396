//! Pool of connections to other executors, for shuffles.
//!
//! Without it every fetch would open its own connection, and a large shuffle would run out of ports. Ballista has such
//! a pool too, but only for its own engine.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ballista_core::client::BallistaClient;
use ballista_core::client_pool::{BallistaClientPool, PooledClient};
use ballista_core::error::Result;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::utils::GrpcClientConfig;

use crate::HostPort;

/// Time after which an idle connection is dropped.
const IDLE: Duration = Duration::from_secs(30);

/// Address of a process and the settings of the connection to it.
type Endpoint = (HostPort, GrpcClientConfig);

/// Idle connections by endpoint, each with the time since which it has been idle.
type Idle = HashMap<Endpoint, Vec<(BallistaClient, Instant)>>;

/// A pool of idle connections.
#[derive(Clone, Default)]
pub(crate) struct Connections {
    idle: Arc<Mutex<Idle>>,
}

impl Connections {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close_idle(&self) {
        self.idle().retain(|_, waiting| {
            waiting.retain(|(_, since)| since.elapsed() < IDLE);
            !waiting.is_empty()
        });
    }

    fn give_back(&self, endpoint: Endpoint, client: BallistaClient) {
        self.idle().entry(endpoint).or_default().push((client, Instant::now()));
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connections")
    }
}

#[async_trait]
impl BallistaClientPool for Connections {
    async fn acquire(
        &self,
        host: &str,
        port: u16,
        config: &GrpcClientConfig,
        customize_endpoint: Option<Arc<BallistaConfigGrpcEndpoint>>,
    ) -> Result<PooledClient> {
        self.close_idle();
        let endpoint = (HostPort { host: host.to_owned(), port }, config.clone());
        let waiting = self.idle().get_mut(&endpoint).and_then(Vec::pop);
        let client = match waiting {
            Some((client, _)) => client,
            None => {
                BallistaClient::try_new(
                    host,
                    port,
                    config.max_message_size,
                    config.use_tls,
                    customize_endpoint,
                    config.io_retries_times,
                    config.io_retry_wait_time_ms,
                    config.initial_connection_window_size,
                    config.initial_stream_window_size,
                )
                .await?
            }
        };
        let pool = self.clone();
        Ok(PooledClient::new(client, Box::new(move |client| pool.give_back(endpoint, client))))
    }

    async fn evict_idle(&self) {
        self.close_idle();
    }
}
