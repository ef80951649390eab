//! Tests of the verification of a team's audit chain.

use std::sync::Arc;

use futures_executor::block_on;

use super::*;
use crate::Service;
use crate::audit::{seal, verify};
use crate::crypto::Key;
use crate::engine::audit_chain::head_mac;
use crate::engine::{Caller, Engine, Person, Who};
use crate::model::{AuditId, Identity, Origin};
use crate::store::{AuditHead, AuditRecord, ChainExtension, MemoryStore, Store};
use crate::testing::fixtures::{World, at, entry};

struct Log {
    store: MemoryStore,
    service: Service,
    world: World,
}

impl Log {
    /// Creates an audit log whose chain has `count` entries. The entry at each position has the
    /// time `at(position)`.
    async fn sealed(count: i64) -> Self {
        let store = MemoryStore::new();
        let service = Service::builder(Arc::new(store.clone()), &Key::generate());
        let (service, world) = (service.build().await.unwrap(), World::build(&store).await);
        let log = Self { store, service, world };
        let entries: Vec<_> = (1..=count).map(|age| log.entry(age)).collect();
        log.add(&entries).await;
        seal(log.engine()).await.unwrap();
        log
    }

    fn engine(&self) -> &Engine {
        self.service.engine()
    }

    fn team(&self) -> TeamId {
        self.world.team.id
    }

    fn entry(&self, age: i64) -> AuditRecord {
        entry(&self.world.team, "team.updated", at(age))
    }

    async fn add(&self, entries: &[AuditRecord]) {
        let mut tx = self.store.begin().await.unwrap();
        tx.insert_audit(entries).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn head(&self) -> AuditHead {
        let mut reads = self.store.read().await.unwrap();
        reads.audit_head(Some(self.team())).await.unwrap().unwrap()
    }

    /// Replaces the entry at a position by another entry that has the same position and hashes.
    async fn forge(&self, position: u64) {
        let mut tx = self.store.begin().await.unwrap();
        let found = tx.audit_chain(Some(self.team()), position - 1, 1).await.unwrap();
        let [original] = <[_; 1]>::try_from(found).unwrap();
        let id = AuditId::draw(original.created_at);
        let forged = AuditRecord { id, action: "team.created".into(), ..original };
        tx.insert_sealed_audit(vec![forged]).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Deletes the entries up to a position, and stores the new start of the chain.
    async fn prune(&self, position: u64) {
        let head = self.head().await;
        let mut tx = self.store.begin().await.unwrap();
        let last = tx.audit_chain(Some(self.team()), position - 1, 1).await.unwrap();
        let base_hash = last[0].seal.unwrap().hash;
        let mut pruned = AuditHead { base: position, base_hash, ..head };
        pruned.mac = head_mac(self.engine().keyring(), &pruned);
        tx.prune_audit(&pruned, head.base).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Performs [`VerifyAudit`] as the owner of the team.
    async fn verify(&self) -> AuditVerification {
        let user = self.world.owner.clone();
        let identity = Identity::new(&user.issuer, &user.subject, &user.email);
        let person = Person { user, identity, session: None };
        let caller = Caller::new(Who::Person(Arc::new(person)), Origin::default());
        let team = Some(self.team());
        self.service.perform(&caller, VerifyAudit { team }).await.unwrap()
    }

    /// Verifies the newest entries of the chain, at most `limit`.
    async fn verify_newest(&self, limit: u64) -> AuditVerification {
        let chain = verify_newest(self.engine(), Some(self.team()), limit).await.unwrap();
        AuditVerification::new(self.team(), &chain.unwrap(), 0)
    }

    /// Returns the expected result for a valid chain, of which the entries from `first` to `last`
    /// are verified.
    fn valid(&self, first: u64, last: u64) -> AuditVerification {
        AuditVerification {
            team_id: self.team(),
            status: ChainStatus::Valid,
            checked: last + 1 - first,
            unchecked: 0,
            first_position: Some(first),
            last_position: Some(last),
            verified_until: Some(at(last.try_into().unwrap())),
            broken_position: None,
            unsealed: 0,
        }
    }
}

#[test]
fn each_entry_of_a_chain_is_verified_and_new_entries_are_counted() {
    block_on(async {
        let log = Log::sealed(3).await;
        log.add(&[log.entry(8), log.entry(9)]).await;

        let found = log.verify().await;

        assert_eq!(found, AuditVerification { unsealed: 2, ..log.valid(1, 3) });
    });
}

#[test]
fn a_team_without_a_chain_has_no_verified_entries() {
    block_on(async {
        let log = Log::sealed(0).await;

        let found = log.verify().await;

        let expected = AuditVerification {
            checked: 0,
            first_position: None,
            last_position: None,
            verified_until: None,
            ..log.valid(1, 1)
        };
        assert_eq!(found, expected);
    });
}

#[test]
fn entries_in_batches_are_appended_and_verified() {
    block_on(async {
        let log = Log::sealed(1).await;
        let mut tx = log.store.begin().await.unwrap();
        tx.insert_audit_batch(&[log.entry(2)].into()).await.unwrap();
        tx.commit().await.unwrap();

        assert_eq!(log.verify().await, log.valid(1, 2));
    });
}

#[test]
fn a_changed_entry_is_reported_with_its_position() {
    block_on(async {
        let log = Log::sealed(4).await;
        log.forge(3).await;

        let found = log.verify().await;

        let expected = AuditVerification {
            status: ChainStatus::Broken,
            broken_position: Some(3),
            ..log.valid(1, 2)
        };
        assert_eq!(found, expected);
    });
}

#[test]
fn a_changed_head_is_reported_without_a_position() {
    block_on(async {
        let log = Log::sealed(2).await;
        let head = AuditHead { hash: [7; 32], ..log.head().await };
        let mut tx = log.store.begin().await.unwrap();
        let change = ChainExtension { end: head.position, head, seals: Vec::new() };
        tx.seal_audit(&[change]).await.unwrap();
        tx.commit().await.unwrap();

        let found = log.verify().await;

        assert_eq!((found.status, found.checked), (ChainStatus::Broken, 0));
        assert_eq!((found.first_position, found.broken_position), (None, None));
        assert_eq!(verify(log.engine()).await.unwrap().broken[0].position, 0);
    });
}

#[test]
fn the_last_entry_of_a_chain_is_the_entry_that_its_head_names() {
    block_on(async {
        let log = Log::sealed(2).await;
        let mut head = AuditHead { hash: [7; 32], ..log.head().await };
        head.mac = head_mac(log.engine().keyring(), &head);
        let mut tx = log.store.begin().await.unwrap();
        let change = ChainExtension { end: head.position, head, seals: Vec::new() };
        tx.seal_audit(&[change]).await.unwrap();
        tx.commit().await.unwrap();

        let found = log.verify().await;

        assert_eq!((found.status, found.broken_position), (ChainStatus::Broken, Some(2)));
    });
}

#[test]
fn only_the_newest_entries_are_verified() {
    block_on(async {
        let log = Log::sealed(8).await;
        log.forge(2).await;
        // The entry before the first verified entry. Only its hash is used.
        log.forge(3).await;

        let found = log.verify_newest(5).await;

        assert_eq!(found, AuditVerification { unchecked: 3, ..log.valid(4, 8) });
        for (limit, position) in [(6, 3), (7, 2), (8, 2), (9, 2)] {
            let found = log.verify_newest(limit).await;
            assert_eq!(found.broken_position, Some(position), "{limit}");
        }
    });
}

#[test]
fn a_pruned_chain_is_verified_from_its_first_entry() {
    block_on(async {
        let log = Log::sealed(6).await;
        log.prune(4).await;

        assert_eq!(log.verify().await, log.valid(5, 6));
        for (limit, unchecked) in [(1, 1), (2, 0), (6, 0)] {
            assert_eq!(log.verify_newest(limit).await.unchecked, unchecked, "{limit}");
        }
        log.prune(6).await;
        assert_eq!(log.verify().await.status, ChainStatus::Valid);
    });
}

#[test]
fn a_chain_longer_than_a_page_is_verified_to_its_end() {
    block_on(async {
        let log = Log::sealed(1_200).await;

        assert_eq!(log.verify().await, log.valid(1, 1_200));
        let newest = log.verify_newest(1_000).await;
        assert_eq!(newest, AuditVerification { unchecked: 200, ..log.valid(201, 1_200) });
    });
}
