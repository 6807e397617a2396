use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use ballista_core::serde::protobuf::GetJobStatusParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use datafusion::arrow::util::pretty::pretty_format_batches;
use tempfile::TempDir;
use throng_testkit::{Authority, skip};

use super::*;
use crate::{ExecutorOptions, HostPort, SchedulerOptions, SessionOptions, run_executor, run_scheduler, session};

const TOKEN: &str = "the-token-of-the-cluster";

/// Certificates of two unrelated authorities.
struct Certificates {
    folder: TempDir,
    ours: CertificateFiles,
    theirs: CertificateFiles,
}

impl Certificates {
    /// `None`, and the test is recorded as skipped, where certificates can't be made.
    fn new() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let files = |name: &str| {
            let authority = Authority::new(folder.path(), name)?;
            let issued = authority.issue(&format!("{name}-process"), "IP:127.0.0.1,DNS:localhost")?;
            let (certificate, key) = (issued.certificate, issued.key);
            Ok(CertificateFiles { authority: authority.certificate().to_owned(), certificate, key })
        };
        match files("ours").and_then(|ours| Ok((ours, files("theirs")?))) {
            Ok((ours, theirs)) => Some(Self { folder, ours, theirs }),
            Err(why) => {
                let why: String = why;
                skip(&why);
                None
            }
        }
    }
}

fn tokens(text: &str) -> Option<Tokens> {
    Some(Tokens::parse(text, "a test").unwrap())
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn scheduler_options(port: u16, security: Security) -> SchedulerOptions {
    SchedulerOptions {
        bind: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port),
        advertise: None,
        executor_timeout_seconds: 10,
        no_executors_seconds: 10,
        attempts: 2,
        keep_finished_seconds: 300,
        security: Some(security),
    }
}

fn executor_options(scheduler: &HostPort, work: &Path, security: Security) -> ExecutorOptions {
    ExecutorOptions {
        scheduler: scheduler.clone(),
        bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
        advertise: None,
        port: 0,
        grpc_port: 0,
        slots: 1,
        work_dir: Some(work.to_owned()),
        memory_limit: Some(256 << 20),
        heartbeat_seconds: 1,
        security: Some(security),
    }
}

#[test]
fn files_that_are_no_certificates_are_refused() {
    let Some(certificates) = Certificates::new() else { return };
    let (ours, theirs) = (&certificates.ours, &certificates.theirs);
    let garbage = certificates.folder.path().join("garbage");
    std::fs::write(&garbage, "-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n").unwrap();
    let empty = certificates.folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let missing = certificates.folder.path().join("missing");
    let wrong = [
        CertificateFiles { key: theirs.key.clone(), ..ours.clone() },
        CertificateFiles { key: ours.certificate.clone(), ..ours.clone() },
        CertificateFiles { authority: garbage.clone(), ..ours.clone() },
        CertificateFiles { authority: empty.clone(), ..ours.clone() },
        CertificateFiles { authority: missing.clone(), ..ours.clone() },
        CertificateFiles { certificate: garbage, ..ours.clone() },
        CertificateFiles { certificate: empty, ..ours.clone() },
        CertificateFiles { key: missing, ..ours.clone() },
    ];
    for files in wrong {
        let error = Security::load(&files, None).unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy, "{files:?}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let shown = format!("{:?}", Security::load(ours, tokens(TOKEN)).unwrap());
    assert!(!shown.contains(TOKEN) && !shown.contains("KEY"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_serves_its_own_and_refuses_everyone_else() {
    let Some(certificates) = Certificates::new() else { return };
    let load = |files: &CertificateFiles, token: Option<Tokens>| Security::load(files, token).unwrap();
    let ours = load(&certificates.ours, tokens(TOKEN));
    let address = HostPort { host: "127.0.0.1".to_owned(), port: free_port() };
    let options = scheduler_options(address.port, ours.clone());
    let scheduler = tokio::spawn(async move { run_scheduler(&options).await });
    let work = TempDir::new().unwrap();
    let options = executor_options(&address, work.path(), ours.clone());
    let executor = tokio::spawn(async move { run_executor(&options, std::future::pending(), Duration::ZERO).await });
    wait_for_admission(&address, &ours).await.unwrap();

    // A query whose stages exchange rows, which uses all kinds of connections between client, scheduler and executor.
    let url = format!("df://{address}").parse().unwrap();
    let query = "SELECT k, sum(v) FROM (VALUES (1, 2), (1, 3), (2, 4)) AS t(k, v) GROUP BY k ORDER BY k";
    let options = SessionOptions::default().with_shuffle_partitions(2);
    let ask = async |security: Option<Security>| {
        let context = session(&url, &options.clone().with_security(security)).await?;
        let rows = context.sql(query).await.unwrap().collect().await;
        rows.map_err(|error| throng_job::running_failure(&error))
    };
    let rows = ask(Some(ours)).await.unwrap();
    let text = pretty_format_batches(&rows).unwrap().to_string();
    assert!(text.contains("| 1 | 5") && text.contains("| 2 | 4"), "{text}");

    let strangers = [
        load(&certificates.ours, None),
        load(&certificates.ours, tokens("another-token-of-someone")),
        load(&certificates.theirs, tokens(TOKEN)),
        // It trusts the scheduler, which does not trust it.
        load(
            &CertificateFiles { authority: certificates.ours.authority.clone(), ..certificates.theirs.clone() },
            tokens(TOKEN),
        ),
    ];
    for (number, stranger) in strangers.into_iter().enumerate() {
        let refused = ask(Some(stranger.clone())).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::BadPolicy, "client {number}: {refused}");
        let refused = wait_for_admission(&address, &stranger).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::BadPolicy, "executor {number}: {refused}");
    }
    // In plain text.
    let refused = ask(None).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::TemporaryIo, "{refused}");
    let plain = SchedulerGrpcClient::connect(format!("http://{address}")).await;
    if let Ok(mut client) = plain {
        client.get_job_status(GetJobStatusParams { job_id: String::new() }).await.unwrap_err();
    }
    assert!(!scheduler.is_finished() && !executor.is_finished());
    executor.abort();
    scheduler.abort();
}

/// Executors of a platform have numbered names, and one certificate for all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wildcard_stands_for_one_part_of_a_name() {
    let folder = TempDir::new().unwrap();
    let issued = Authority::new(folder.path(), "ours")
        .and_then(|authority| Ok((authority.issue("executor", "DNS:*.throng-executor.default.svc")?, authority)));
    let (issued, authority) = match issued {
        Ok(issued) => issued,
        Err(why) => return skip(&why),
    };
    let (certificate, key) = (issued.certificate, issued.key);
    let files = CertificateFiles { authority: authority.certificate().to_owned(), certificate, key };
    let security = Security::load(&files, None).unwrap();
    let address = HostPort { host: "127.0.0.1".to_owned(), port: free_port() };
    let options = scheduler_options(address.port, security.clone());
    let scheduler = tokio::spawn(async move { run_scheduler(&options).await });
    while tokio::net::TcpStream::connect((address.host.as_str(), address.port)).await.is_err() {
        assert!(!scheduler.is_finished());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let connects = async |name: &str| {
        let named = security.client.clone().domain_name(name);
        let endpoint = Endpoint::from_shared(format!("https://{address}")).unwrap().tls_config(named).unwrap();
        endpoint.connect().await.is_ok()
    };
    assert!(connects("throng-executor-3.throng-executor.default.svc").await);
    for other in ["throng-executor.default.svc", "a.b.throng-executor.default.svc", "a.throng-executor.other.svc"] {
        assert!(!connects(other).await, "{other}");
    }
    scheduler.abort();
}
