//! Scopes.
/// x
pub struct EnvironmentScope;
/// x
pub struct ProjectScope;
/// x
pub struct TeamScope;
/// x
pub struct View;
