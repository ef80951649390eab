//! Serialization of audit entries in batches.

use serde::ser::SerializeTuple as _;
use serde::{Serialize, Serializer};

use super::AuditRecord;
use crate::model::clock::Rfc3339;

/// Serializes an entry as a list of its fields, which is shorter than a map with the field names.
/// All versions of the service can read both forms.
impl Serialize for AuditRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            id,
            team,
            project,
            project_name,
            environment,
            environment_name,
            actor_type,
            actor_id,
            actor_name,
            actor_email,
            action,
            resource_type,
            resource_id,
            resource_name,
            outcome,
            metadata,
            address,
            agent,
            request,
            created_at,
            seal: _,
        } = self;
        let mut list = serializer.serialize_tuple(20)?;
        list.serialize_element(id)?;
        list.serialize_element(team)?;
        list.serialize_element(project)?;
        list.serialize_element(project_name)?;
        list.serialize_element(environment)?;
        list.serialize_element(environment_name)?;
        list.serialize_element(actor_type)?;
        list.serialize_element(actor_id)?;
        list.serialize_element(actor_name)?;
        list.serialize_element(actor_email)?;
        list.serialize_element(action)?;
        list.serialize_element(resource_type)?;
        list.serialize_element(resource_id)?;
        list.serialize_element(resource_name)?;
        list.serialize_element(outcome)?;
        list.serialize_element(metadata)?;
        list.serialize_element(address)?;
        list.serialize_element(agent)?;
        list.serialize_element(request)?;
        list.serialize_element(&Rfc3339(created_at))?;
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_a_list_and_as_a_map() {
        let id = "01900000-0000-7000-8000-000000000001";
        let map = serde_json::json!({
            "id": id, "team": id, "project": null, "project_name": "web", "environment": null,
            "environment_name": "staging", "actor_type": "user", "actor_id": id,
            "actor_name": "Ada", "actor_email": null, "action": "secret.read",
            "resource_type": "secret", "resource_id": null, "resource_name": "KEY",
            "outcome": "success", "metadata": "{}", "address": "192.0.2.1", "agent": null,
            "request": id, "created_at": "2026-11-28T12:00:00.000001Z",
        });
        let entry: AuditRecord = serde_json::from_value(map.clone()).unwrap();

        let list = serde_json::to_value(&entry).unwrap();

        let fields = list.as_array().unwrap();
        assert_eq!(fields.len(), map.as_object().unwrap().len());
        assert_eq!(serde_json::from_value::<AuditRecord>(list.clone()).unwrap(), entry);
        // An entry with an unknown field cannot be decoded; a node of a newer version must move it.
        let newer = [fields.as_slice(), &[1.into()]].concat();
        assert!(serde_json::from_value::<AuditRecord>(newer.into()).is_err());
    }
}
