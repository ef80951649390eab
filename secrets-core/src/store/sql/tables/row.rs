//! Rows of query results, with decoding of their columns.

use sqlx::{ColumnIndex, Database, Decode, Row as _, Type};
use uuid::Uuid;

use super::{Db, broken};
use crate::store::{StoreError, StoreResult};

/// A row of a query result, with access to its columns by name.
pub(super) struct Row<'r> {
    pub(super) table: &'static str,
    pub(super) row: &'r <Db as Database>::Row,
}

impl<'r> Row<'r> {
    pub(super) fn get<T>(&self, column: &'static str) -> StoreResult<T>
    where
        T: Decode<'r, Db> + Type<Db>,
        &'static str: ColumnIndex<<Db as Database>::Row>,
    {
        self.row.try_get(column).map_err(|_| self.unreadable(column))
    }

    pub(super) fn id<T: From<Uuid>>(&self, column: &'static str) -> StoreResult<T> {
        self.get(column).map(Uuid::into)
    }

    pub(super) fn id_if_any<T: From<Uuid>>(&self, column: &'static str) -> StoreResult<Option<T>> {
        Ok(self.get::<Option<Uuid>>(column)?.map(Uuid::into))
    }

    pub(super) fn number<T: TryFrom<i64>>(&self, column: &'static str) -> StoreResult<T> {
        T::try_from(self.get(column)?).map_err(|_| self.unreadable(column))
    }

    pub(super) fn number_if_any<T: TryFrom<i64>>(
        &self,
        column: &'static str,
    ) -> StoreResult<Option<T>> {
        let number: Option<i64> = self.get(column)?;
        number.map(|number| T::try_from(number).map_err(|_| self.unreadable(column))).transpose()
    }

    pub(super) fn name<T: TryFrom<String>>(&self, column: &'static str) -> StoreResult<T> {
        T::try_from(self.get(column)?).map_err(|_| self.unreadable(column))
    }

    pub(super) fn one_of<T>(
        &self,
        column: &'static str,
        from_name: fn(&str) -> Option<T>,
    ) -> StoreResult<T> {
        from_name(self.get(column)?).ok_or_else(|| self.unreadable(column))
    }

    pub(super) fn one_of_if_any<T>(
        &self,
        column: &'static str,
        from_name: fn(&str) -> Option<T>,
    ) -> StoreResult<Option<T>> {
        let name: Option<&str> = self.get(column)?;
        name.map(|name| from_name(name).ok_or_else(|| self.unreadable(column))).transpose()
    }

    /// Creates the error for a column that cannot be decoded. The error names the table, the column
    /// and the row ID, but never the content, which may be part of a secret.
    pub(super) fn unreadable(&self, column: &'static str) -> StoreError {
        let id =
            self.row.try_get::<Uuid, _>("id").map(|id| format!(" of {id}")).unwrap_or_default();
        broken(format!("cannot read {}.{column}{id}", self.table))
    }
}
