//! Connection tests: checking that a rotation can use its connection settings.

use serde::{Deserialize, Serialize, Serializer};

use super::connection::{self, Connection, ProxyConnection};
use super::list::named_rotation;
use super::rotate::no_rotators;
use super::sealing::Sealer;
use crate::engine::Engine;
use crate::engine::{Audit, Caller, Callers, Context, Operation, Read, Task};
use crate::model::rotations::{ConnectionMethod, Integration, SslMode};
use crate::model::{EnvironmentPath, Permission, Result, object};
use crate::ports::rotator::Target;

/// Connection settings to test.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "integration_type": "postgresql",
    "connection_method": "direct",
    "connection": {
        "host": "db.example.com",
        "database": "orders",
        "admin_username": "rotator",
        "admin_password": "a-long-password",
    },
})))]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Kind of database.
    pub integration_type: Integration,
    /// Connection method: direct, or through an AWS Lambda function (proxy).
    pub connection_method: ConnectionMethod,
    /// Connection settings of the database.
    #[serde(deserialize_with = "object::one")]
    pub connection: Connection,
    /// AWS Lambda function that connects to the database. Required if `connection_method` is
    /// `proxied`.
    #[serde(default, deserialize_with = "object::optional")]
    pub proxy: Option<ProxyConnection>,
}

/// Result of a connection test.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestResult {
    /// True if a rotation could use these connection settings.
    pub success: bool,
    /// Reason for the failure, or a success message with a warning if the TLS mode is weak. Never
    /// contains text from the server.
    pub message: String,
}

/// First step of [`TestConnection`]: authorizes the caller and validates the connection settings,
/// without connecting.
#[derive(Debug)]
pub struct PlanConnectionTest {
    /// Environment for which the caller must have write permission.
    pub at: EnvironmentPath,
    /// Connection settings to test.
    pub candidate: Candidate,
}

/// First step of [`TestRotation`]: authorizes the caller for a test of a rotation's connection,
/// without connecting.
#[derive(Debug)]
pub struct PlanRotationTest {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
}

/// A connection test that the caller is authorized for, ready to run.
#[derive(Debug)]
pub struct PlannedTest {
    target: Target,
    method: ConnectionMethod,
}

impl Operation for PlanConnectionTest {
    const NAME: &'static str = "rotation.test_connection";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Export("rotation.tested");
    type Access = Read;
    type Output = PlannedTest;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<PlannedTest> {
        cx.environment(&self.at, Permission::Write).await?;
        let Candidate { integration_type, connection_method, connection, proxy } = self.candidate;
        let kind = connection::requested_kind(cx.ports(), &integration_type)?;
        let policy = &cx.options().egress;
        let target = connection::target(policy, kind, connection_method, connection, proxy)?;
        Ok(PlannedTest { target, method: connection_method })
    }
}

impl Operation for PlanRotationTest {
    const NAME: &'static str = "rotation.test";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Export("rotation.tested");
    type Access = Read;
    type Output = PlannedTest;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<PlannedTest> {
        let scope = cx.environment(&self.at, Permission::Write).await?;
        let rotation = named_rotation(cx, scope.environment.id, &self.name).await?;
        cx.set_resource("rotation", rotation.id.uuid(), rotation.settings.name.as_str());
        let sealer = Sealer::of(cx, &scope);
        let target = connection::open(cx.ports(), &sealer, cx.reads(), &rotation).await?;
        Ok(PlannedTest { target, method: rotation.settings.method })
    }
}

/// Task that tests connection settings without storing them.
#[derive(Debug)]
pub struct TestConnection {
    /// Environment for which the caller must have write permission.
    pub at: EnvironmentPath,
    /// Connection settings to test.
    pub candidate: Candidate,
}

/// Task that tests the stored connection settings of a rotation.
#[derive(Debug)]
pub struct TestRotation {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
}

impl Task for TestConnection {
    const NAME: &'static str = <PlanConnectionTest as Operation>::NAME;
    const CALLERS: Callers = <PlanConnectionTest as Operation>::CALLERS;
    type Output = TestResult;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<TestResult> {
        test_connection(engine, caller, self.at, self.candidate).await
    }
}

impl Task for TestRotation {
    const NAME: &'static str = <PlanRotationTest as Operation>::NAME;
    const CALLERS: Callers = <PlanRotationTest as Operation>::CALLERS;
    type Output = TestResult;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<TestResult> {
        test_rotation(engine, caller, self.at, self.name).await
    }
}

/// Tests connection settings without storing them.
pub(super) async fn test_connection(
    engine: &Engine,
    caller: &Caller,
    at: EnvironmentPath,
    candidate: Candidate,
) -> Result<TestResult> {
    let prepared = engine.perform(caller, PlanConnectionTest { at, candidate }).await?;
    test(engine, prepared).await
}

/// Tests the stored connection settings of a rotation.
pub(super) async fn test_rotation(
    engine: &Engine,
    caller: &Caller,
    at: EnvironmentPath,
    name: String,
) -> Result<TestResult> {
    let prepared = engine.perform(caller, PlanRotationTest { at, name }).await?;
    test(engine, prepared).await
}

async fn test(engine: &Engine, prepared: PlannedTest) -> Result<TestResult> {
    let PlannedTest { target, method } = prepared;
    let rotators = engine.ports().rotators.as_ref().ok_or_else(no_rotators)?;
    let tested = match rotators.driver(method, &target) {
        Ok(rotator) => rotator.test(&target).await,
        Err(error) => Err(error),
    };
    Ok(match tested {
        Ok(()) => {
            TestResult { success: true, message: success_message(target.ssl_mode).to_owned() }
        }
        Err(error) => TestResult { success: false, message: error.to_string() },
    })
}

/// Returns the message of a successful connection test, with a warning if the TLS mode does not
/// fully protect the connection.
fn success_message(ssl_mode: SslMode) -> &'static str {
    match ssl_mode {
        SslMode::VerifyFull | SslMode::VerifyCa => "the connection works",
        SslMode::Require | SslMode::Prefer | SslMode::Allow => {
            "the connection works, but the server's identity is not verified: see ssl_mode"
        }
        SslMode::Disable => "the connection works, but is not encrypted: see ssl_mode",
    }
}

/// Serializes the value as null. The value is only passed to the next step, and callers never see
/// it.
impl Serialize for PlannedTest {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}
