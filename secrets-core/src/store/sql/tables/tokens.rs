use std::collections::HashMap;

use async_trait::async_trait;
use sqlx::QueryBuilder;

use super::{BATCH, Connected, Db, Row, Session, Transaction, push_ids};
use crate::crypto::TokenMac;
use crate::error::Subject;
use crate::ids::{EnvironmentId, ProjectId, TeamId, TokenId};
use crate::store::{StoreResult, TokenReads, TokenRecord, TokenScope, TokenWrites};

#[async_trait]
impl<C: Connected> TokenReads for Session<C> {
    async fn token_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<TokenRecord>> {
        let statement =
            sqlx::query(concat!("SELECT ", columns!(tokens), " FROM tokens k WHERE k.mac = $1"));
        self.one("tokens", statement.bind(mac.0.as_slice()), record).await
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
                self.all("token_scopes", statement.build(), part).await?
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
                  all_environments, created_by, created_at, updated_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
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
        .bind(token.expires_at);
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
    })
}

fn part(row: &Row<'_>) -> StoreResult<(TokenId, Option<ProjectId>, Option<EnvironmentId>)> {
    Ok((row.id("id")?, row.id_if_any("project_id")?, row.id_if_any("environment_id")?))
}
