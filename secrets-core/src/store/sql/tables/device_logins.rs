use async_trait::async_trait;

use super::{Connected, Row, Session, Transaction};
use crate::crypto::TokenMac;
use crate::model::{DisplayName, Subject, Time, UserId};
use crate::store::{
    DeviceClient, DeviceLoginReads, DeviceLoginRecord, DeviceLoginWrites, DeviceStatus, StoreResult,
};

macro_rules! login {
    ($found_by:literal) => {
        concat!(
            "SELECT id, device_mac, code_mac, client_name, hostname, os, address, status, user_id,
                 poll_seconds, polled_at, created_at, expires_at
             FROM device_logins WHERE ",
            $found_by,
            " = $1"
        )
    };
}

#[async_trait]
impl<C: Connected> DeviceLoginReads for Session<C> {
    async fn login_by_device_code(
        &mut self,
        device: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>> {
        let statement = sqlx::query(login!("device_mac")).bind(device.0.as_slice());
        self.one("device_logins", statement, login).await
    }

    async fn login_by_user_code(
        &mut self,
        code: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>> {
        let statement = sqlx::query(login!("code_mac")).bind(code.0.as_slice());
        self.one("device_logins", statement, login).await
    }
}

#[async_trait]
impl DeviceLoginWrites for Session<Transaction> {
    async fn insert_device_login(&mut self, login: &DeviceLoginRecord) -> StoreResult<()> {
        let client = &login.client;
        let statement = sqlx::query(
            "INSERT INTO device_logins
                 (id, device_mac, code_mac, client_name, hostname, os, address, status, user_id,
                  poll_seconds, polled_at, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
             ON CONFLICT DO NOTHING",
        )
        .bind(login.id.uuid())
        .bind(login.device.0.as_slice())
        .bind(login.code.0.as_slice())
        .bind(client.name.as_ref().map(DisplayName::as_str))
        .bind(client.hostname.as_ref().map(DisplayName::as_str))
        .bind(client.os.as_ref().map(DisplayName::as_str))
        .bind(client.address.map(|address| address.to_string()))
        .bind(login.status.as_str())
        .bind(login.user.map(UserId::uuid))
        .bind(i64::from(login.poll_seconds))
        .bind(login.polled_at)
        .bind(login.created_at)
        .bind(login.expires_at);
        self.insert(Subject::DeviceLogin, statement).await
    }

    async fn update_device_login(
        &mut self,
        login: &DeviceLoginRecord,
        was: DeviceStatus,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE device_logins SET status = $2, user_id = $3, poll_seconds = $4, polled_at = $5
             WHERE id = $1 AND status = $6",
        )
        .bind(login.id.uuid())
        .bind(login.status.as_str())
        .bind(login.user.map(UserId::uuid))
        .bind(i64::from(login.poll_seconds))
        .bind(login.polled_at)
        .bind(was.as_str());
        self.change(Subject::DeviceLogin, statement).await
    }

    async fn delete_device_logins(&mut self, user: UserId) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM device_logins WHERE user_id = $1");
        self.write(statement.bind(user.uuid())).await.map(drop)
    }

    async fn delete_ended_logins(&mut self, by: Time, limit: u32) -> StoreResult<u64> {
        let statement = sqlx::query(
            "DELETE FROM device_logins WHERE id IN
                 (SELECT id FROM device_logins WHERE expires_at <= $1 LIMIT $2)",
        );
        self.write(statement.bind(by).bind(i64::from(limit))).await
    }
}

pub(super) fn client(row: &Row<'_>) -> StoreResult<DeviceClient> {
    let name = |column| -> StoreResult<Option<DisplayName>> {
        match row.get::<Option<&str>>(column)? {
            Some(_) => row.name(column).map(Some),
            None => Ok(None),
        }
    };
    let address = match row.get::<Option<&str>>("address")? {
        Some(_) => Some(row.one_of("address", |text| text.parse().ok())?),
        None => None,
    };
    Ok(DeviceClient {
        name: name("client_name")?,
        hostname: name("hostname")?,
        os: name("os")?,
        address,
    })
}

pub(super) fn mac(row: &Row<'_>, column: &'static str) -> StoreResult<TokenMac> {
    let bytes: Vec<u8> = row.get(column)?;
    bytes.try_into().map(TokenMac).map_err(|_| row.unreadable(column))
}

fn login(row: &Row<'_>) -> StoreResult<DeviceLoginRecord> {
    Ok(DeviceLoginRecord {
        id: row.id("id")?,
        device: mac(row, "device_mac")?,
        code: mac(row, "code_mac")?,
        client: client(row)?,
        status: row.one_of("status", DeviceStatus::from_name)?,
        user: row.id_if_any("user_id")?,
        poll_seconds: row.number("poll_seconds")?,
        polled_at: row.get("polled_at")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
    })
}
