use std::collections::HashMap;

use async_trait::async_trait;
use ipnet::IpNet;
use sqlx::QueryBuilder;

use super::super::super::cache::CacheView;
use super::{BATCH, Connected, Db, Row, Session, Transaction, push_ids};
use crate::crypto::TokenMac;
use crate::model::{EnvironmentId, ProjectId, Subject, TeamId, Time, TokenId};
use crate::store::{
    NewCredential, PreviousToken, StoreResult, TokenReads, TokenRecord, TokenScope, TokenUse,
    TokenWrites,
};

/// Query for the service tokens about whose expiry a notice must be sent.
pub(in crate::store::sql) const EXPIRING_TOKENS: &str = concat!(
    "SELECT ",
    columns!(tokens),
    " FROM tokens k WHERE NOT k.expiry_announced AND k.expires_at > $1 AND k.expires_at <= $2
      ORDER BY k.expires_at, k.id LIMIT $3"
);

#[async_trait]
impl<C: Connected> TokenReads for Session<C> {
    async fn token_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<TokenRecord>> {
        let cache = self.0.cache().await?;
        if let Some(token) = cache.as_ref().and_then(|cache| cache.token(mac)) {
            return Ok(Some(token));
        }
        let now = cache.as_ref().map(CacheView::now);
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(tokens),
            " FROM tokens k WHERE k.mac = $1 OR k.previous_mac = $1"
        ));
        let token = self.one("tokens", statement.bind(mac.0.as_slice()), record).await?;
        if let (Some(cache), Some(now), Some(token)) = (cache, now, &token) {
            cache.keep_token(now, mac, token);
        }
        Ok(token)
    }

    async fn token(&mut self, token: TokenId) -> StoreResult<Option<TokenRecord>> {
        let statement =
            sqlx::query(concat!("SELECT ", columns!(tokens), " FROM tokens k WHERE k.id = $1"));
        self.one("tokens", statement.bind(token.uuid()), record).await
    }

    async fn tokens(&mut self, teams: &[TeamId]) -> StoreResult<Vec<(TokenRecord, TokenScope)>> {
        if teams.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = QueryBuilder::<Db>::new(concat!(
            "SELECT ",
            columns!(tokens),
            " FROM tokens k WHERE k.team_id IN "
        ));
        push_ids(&mut statement, teams.iter().map(|team| team.uuid()));
        statement.push(" ORDER BY k.created_at, k.id");
        let tokens = self.all("tokens", statement.build(), record).await?;

        let ids: Vec<_> = tokens.iter().map(|token| token.id).collect();
        let mut scopes = self.scopes(&ids).await?;
        let with_scope = |token: TokenRecord| {
            let scope = scopes.remove(&token.id).unwrap_or_default();
            (token, scope)
        };
        Ok(tokens.into_iter().map(with_scope).collect())
    }

    async fn token_scope(&mut self, token: TokenId) -> StoreResult<TokenScope> {
        Ok(self.scopes(&[token]).await?.remove(&token).unwrap_or_default())
    }

    async fn count_tokens(&mut self, team: TeamId) -> StoreResult<u64> {
        let statement = sqlx::query("SELECT COUNT(*) AS count FROM tokens WHERE team_id = $1");
        self.count(statement.bind(team.uuid())).await
    }

    async fn expiring_tokens(
        &mut self,
        now: Time,
        until: Time,
        limit: u32,
    ) -> StoreResult<Vec<TokenRecord>> {
        let statement = sqlx::query(EXPIRING_TOKENS).bind(now).bind(until).bind(i64::from(limit));
        self.all("tokens", statement, record).await
    }
}

impl<C: Connected> Session<C> {
    async fn scopes(&mut self, tokens: &[TokenId]) -> StoreResult<HashMap<TokenId, TokenScope>> {
        let mut scopes: HashMap<_, TokenScope> = HashMap::new();
        for tokens in tokens.chunks(BATCH) {
            let mut statement = QueryBuilder::<Db>::new(
                "SELECT token_id AS id, project_id, CAST(NULL AS UUID) AS environment_id
                 FROM token_projects WHERE token_id IN ",
            );
            push_ids(&mut statement, tokens.iter().map(|token| token.uuid()));
            statement.push(
                " UNION ALL
                 SELECT token_id, NULL, environment_id FROM token_environments WHERE token_id IN ",
            );
            push_ids(&mut statement, tokens.iter().map(|token| token.uuid()));
            for (token, project, environment) in
                self.all("token_scopes", statement.build(), scope_entry).await?
            {
                let scope = scopes.entry(token).or_default();
                scope.projects.extend(project);
                scope.environments.extend(environment);
            }
        }
        for scope in scopes.values_mut() {
            scope.projects.sort_unstable();
            scope.environments.sort_unstable();
        }
        Ok(scopes)
    }
}

#[async_trait]
impl TokenWrites for Session<Transaction> {
    async fn insert_token(&mut self, token: &TokenRecord, scope: &TokenScope) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO tokens
                 (id, team_id, name, mac, prefix, can_read, can_write, all_projects,
                  all_environments, created_by, created_at, updated_at, expires_at,
                  previous_mac, previous_until, rotated_at, ip_allowlist, last_used_at,
                  last_used_ip, expiry_announced, outlives_session)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
                 $18, $19, $20, $21)
             ON CONFLICT DO NOTHING",
        )
        .bind(token.id.uuid())
        .bind(token.team.uuid())
        .bind(token.name.as_str())
        .bind(token.mac.0.as_slice())
        .bind(&token.prefix)
        .bind(token.can_read)
        .bind(token.can_write)
        .bind(token.all_projects)
        .bind(token.all_environments)
        .bind(token.created_by.uuid())
        .bind(token.created_at)
        .bind(token.updated_at)
        .bind(token.expires_at)
        .bind(token.previous.map(|previous| previous.mac.0.to_vec()))
        .bind(token.previous.map(|previous| previous.until))
        .bind(token.rotated_at)
        .bind(join_networks(&token.networks))
        .bind(token.last_use.map(|last| last.at))
        .bind(token.last_use.and_then(|last| last.address).map(|address| address.to_string()))
        .bind(token.expiry_announced)
        .bind(token.outlives_session);
        self.insert(Subject::Token, statement).await?;

        for project in &scope.projects {
            let statement = sqlx::query(
                "INSERT INTO token_projects (token_id, project_id) VALUES ($1, $2)
                 ON CONFLICT DO NOTHING",
            );
            self.write(statement.bind(token.id.uuid()).bind(project.uuid())).await?;
        }
        for environment in &scope.environments {
            let statement = sqlx::query(
                "INSERT INTO token_environments (token_id, environment_id) VALUES ($1, $2)
                 ON CONFLICT DO NOTHING",
            );
            self.write(statement.bind(token.id.uuid()).bind(environment.uuid())).await?;
        }
        Ok(())
    }

    async fn rotate_token(&mut self, token: TokenId, rotation: &NewCredential) -> StoreResult<()> {
        // The stored MAC becomes the previous one, not a MAC that was read before.
        let statement = sqlx::query(
            "UPDATE tokens SET
                 previous_mac = CASE WHEN $4 THEN mac END, previous_until = $5, mac = $2,
                 prefix = $3, rotated_at = $6, updated_at = $6, outlives_session = $7
             WHERE id = $1",
        )
        .bind(token.uuid())
        .bind(rotation.mac.0.as_slice())
        .bind(&rotation.prefix)
        .bind(rotation.previous_until.is_some())
        .bind(rotation.previous_until)
        .bind(rotation.now)
        .bind(rotation.outlives_session);
        self.change(Subject::Token, statement).await
    }

    async fn record_token_use(&mut self, token: TokenId, used: TokenUse) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE tokens SET last_used_at = $2, last_used_ip = $3
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $4)",
        )
        .bind(token.uuid())
        .bind(used.at)
        .bind(used.address.map(|address| address.to_string()))
        .bind(used.at - TokenUse::WRITE_INTERVAL);
        self.write(statement).await.map(drop)
    }

    async fn mark_expiry_announced(&mut self, token: TokenId) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE tokens SET expiry_announced = TRUE WHERE id = $1 AND NOT expiry_announced",
        );
        self.change(Subject::Token, statement.bind(token.uuid())).await
    }

    async fn delete_token(&mut self, token: TokenId) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM tokens WHERE id = $1").bind(token.uuid());
        self.change(Subject::Token, statement).await
    }
}

fn record(row: &Row<'_>) -> StoreResult<TokenRecord> {
    let mac: Vec<u8> = row.get("mac")?;
    Ok(TokenRecord {
        id: row.id("id")?,
        team: row.id("team_id")?,
        name: row.name("name")?,
        mac: TokenMac(mac.try_into().map_err(|_| row.unreadable("mac"))?),
        prefix: row.get("prefix")?,
        can_read: row.get("can_read")?,
        can_write: row.get("can_write")?,
        all_projects: row.get("all_projects")?,
        all_environments: row.get("all_environments")?,
        created_by: row.id("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        expires_at: row.get("expires_at")?,
        expiry_announced: row.get("expiry_announced")?,
        networks: row.one_of("ip_allowlist", networks)?,
        previous: previous(row)?,
        rotated_at: row.get("rotated_at")?,
        last_use: last_use(row)?,
        outlives_session: row.get("outlives_session")?,
    })
}

fn previous(row: &Row<'_>) -> StoreResult<Option<PreviousToken>> {
    let mac: Option<Vec<u8>> = row.get("previous_mac")?;
    let (Some(mac), Some(until)) = (mac, row.get("previous_until")?) else { return Ok(None) };
    let mac = mac.try_into().map_err(|_| row.unreadable("previous_mac"))?;
    Ok(Some(PreviousToken { mac: TokenMac(mac), until }))
}

fn last_use(row: &Row<'_>) -> StoreResult<Option<TokenUse>> {
    let Some(at) = row.get("last_used_at")? else { return Ok(None) };
    let address = match row.get::<Option<&str>>("last_used_ip")? {
        Some(_) => Some(row.one_of("last_used_ip", |text| text.parse().ok())?),
        None => None,
    };
    Ok(Some(TokenUse { at, address }))
}

/// Returns the networks as one string, separated by commas, as stored.
fn join_networks(networks: &[IpNet]) -> String {
    let texts: Vec<_> = networks.iter().map(IpNet::to_string).collect();
    texts.join(",")
}

fn networks(text: &str) -> Option<Vec<IpNet>> {
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

fn scope_entry(row: &Row<'_>) -> StoreResult<(TokenId, Option<ProjectId>, Option<EnvironmentId>)> {
    Ok((row.id("id")?, row.id_if_any("project_id")?, row.id_if_any("environment_id")?))
}
