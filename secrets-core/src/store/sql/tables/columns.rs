//! Lists of the columns of the tables.

/// List of the columns of a table. A macro, because SQL statements are string literals.
macro_rules! columns {
    (users) => {
        "u.id, u.issuer, u.subject, u.email, u.email_verified, u.name, u.name_chosen, u.first_name,
         u.last_name, u.avatar_url, u.created_at, u.updated_at, u.last_login_at"
    };
    (teams) => {
        "t.id, t.name, t.slug, t.is_personal, t.plan, t.created_by, t.created_at, t.updated_at"
    };
    (projects) => {
        "p.id, p.team_id, p.name, p.slug, p.description, p.created_by, p.created_at, p.updated_at"
    };
    (environments) => {
        "e.id, e.project_id, e.name, e.inherits_from, e.description, e.is_default, e.position,
         e.revision, e.created_by, e.created_at, e.updated_at"
    };
    (secrets) => {
        "s.id, s.environment_id, s.key, s.sealed, s.hidden, s.sealed_description,
         s.version, s.change, s.changed_by, s.changed_at, s.created_by, s.updated_by, s.created_at,
         s.updated_at"
    };
    (rotations) => {
        "r.id, r.environment_id, r.name, r.integration, r.method, r.level, r.connection, r.proxy,
         r.keys, r.interval_days, r.status, r.error_code, r.error_message, r.error_since,
         r.failures, r.active_slot, r.retire_at, r.check_at, r.checks, r.next_rotation_at,
         r.remaining, r.last_rotation_at, r.identity, r.sequence, r.work_at, r.created_by,
         r.created_at, r.updated_at, r.announced_at"
    };
    (attempts) => {
        "a.id, a.rotation_id, a.sequence, a.slot, a.pending, a.state, a.trigger_type,
         a.triggered_by, a.tries, a.resumed, a.outcome, a.error_code, a.error_message,
         a.started_at, a.completed_at"
    };
    (webhooks) => {
        "w.id, w.rotation_id, w.sealed, w.events, w.enabled, w.failing_since, w.created_by,
         w.created_at"
    };
    (webhook_deliveries) => {
        "d.id, d.webhook_id, d.event, d.body, d.status, d.attempts, d.response_status,
         d.next_attempt_at, d.created_at"
    };
    (scans) => {
        "s.id, s.team_id, s.project_id, s.source, s.source_name, s.source_commit, s.high, s.medium,
         s.low, s.is_truncated, s.secrets_compared, s.created_by, s.created_at, s.completed_at"
    };
    (findings) => {
        "f.id, f.scan_id, f.position, f.rule_id, f.description, f.severity, f.path, f.line,
         f.column_number, f.commit_name, f.fingerprint, f.redacted, f.entropy, f.secret_project,
         f.secret_environment, f.secret_key, f.status, f.comment, f.created_at, f.updated_at,
         f.updated_by"
    };
    (tokens) => {
        "k.id, k.team_id, k.name, k.mac, k.prefix, k.can_read, k.can_write, k.all_projects,
         k.all_environments, k.created_by, k.created_at, k.updated_at, k.expires_at,
         k.previous_mac, k.previous_until, k.rotated_at, k.ip_allowlist, k.last_used_at,
         k.last_used_ip, k.expiry_announced, k.outlives_session"
    };
}
