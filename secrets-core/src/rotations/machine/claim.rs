//! Claiming rotations with work, so that only one worker at a time works on each.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;

use super::super::connection;
use super::super::schedule::span;
use super::super::sealing::OpenPlace;
use super::attempt::Attempt;
use super::seats::{Asker, Seat};
use super::work::{Halt, Held, Work};
use crate::engine::Engine;
use crate::model::lock::lock;
use crate::model::rotations::RotationStatus;
use crate::model::{Result, RotationId};
use crate::ports::timings::Rotators;
use crate::store::{Lease, StoreResult};

/// Maximum number of rotations with work considered per call.
const MAX_CANDIDATES: u32 = 64;

/// A claimed rotation with work. No other node works on it while the lease lasts. [`Service::work`]
/// does the work.
#[derive(Debug)]
pub struct Claim {
    lease: Lease,
    _permit: Seat,
}

impl Engine {
    /// Claims rotations with work: rotations that are due, attempts left unfinished, previous
    /// credentials to lock, and served credentials to check. At most four at once per node, and one
    /// per database host.
    pub async fn claim_rotations(&self) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        if self.ports().rotators.is_none() || !self.seats().has_room() {
            return Ok(claims);
        }
        let work = self.store().read().await?.rotation_work(self.now(), MAX_CANDIDATES).await?;
        for rotation in work {
            if !self.seats().has_room() {
                break;
            }
            claims.extend(self.claim_rotation(rotation, Asker::Schedule).await?);
        }
        Ok(claims)
    }

    /// Ends all leases. Only call it while no other process uses the store.
    pub async fn end_rotation_leases(&self) -> StoreResult<()> {
        let mut tx = self.store().begin().await?;
        tx.end_leases().await?;
        tx.commit().await
    }

    /// Claims a rotation, if no other worker has it and a permit is available.
    pub(in super::super) async fn claim_rotation(
        &self,
        rotation: RotationId,
        asker: Asker,
    ) -> Result<Option<Claim>> {
        let Some(rotators) = self.ports().rotators.as_ref() else { return Ok(None) };
        let host = self.rotation_host(rotation).await?;
        let Some(permit) = self.seats().take(&host, asker) else { return Ok(None) };
        let now = self.now();
        let mut tx = self.store().begin().await?;
        let lease = tx.take_lease(rotation, now, now + span(rotators.timings.lease)).await?;
        tx.commit().await?;
        Ok(lease.map(|lease| Claim { lease, _permit: permit }))
    }

    /// Host of a rotation's database, or a text unique to the rotation if the connection cannot be
    /// decrypted.
    async fn rotation_host(&self, id: RotationId) -> Result<String> {
        let fallback = || format!("rotation {id}");
        let mut reads = self.store().read().await?;
        let (Some(rotation), Some(place)) =
            (reads.rotation(id).await?, reads.rotation_place(id).await?)
        else {
            return Ok(fallback());
        };
        let Ok(place) = OpenPlace::new(self.keyring(), place) else { return Ok(fallback()) };
        let seals = place.seals(self.keyring());
        let target = connection::open(&seals, reads.as_mut(), &rotation).await;
        Ok(target.map_or_else(|_| fallback(), |target| target.host))
    }

    /// Performs the next piece of work on a claimed rotation. If it is interrupted, another worker
    /// resumes it from the stored state after the lease has ended.
    pub async fn work(&self, claim: Claim) {
        let Some(rotators) = self.ports().rotators.as_ref() else { return };
        let rotation = claim.lease.rotation;
        match self.work_once(rotators, claim.lease).await {
            Ok(()) | Err(Halt::Lost) => {}
            Err(Halt::Failed(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(%rotation, error, "rotation interrupted, will be resumed");
            }
        }
    }

    async fn work_once(&self, rotators: &Rotators, lease: Lease) -> Held<()> {
        let Some(mut work) = Work::open(self, rotators, lease).await? else { return Ok(()) };
        let done = work.next_step().await;
        if let Err(Halt::Failed(_)) = done {
            self.mark_unfinished(lease.rotation);
        }
        let mut tx = self.store().begin().await?;
        tx.end_lease(&work.lease).await?;
        tx.commit().await?;
        done
    }
}

impl Work<'_> {
    /// Performs the most urgent work: an open attempt, locking the previous credential, a check, a
    /// new rotation.
    async fn next_step(&mut self) -> Held<()> {
        let now = self.engine.now();
        let open = self.engine.store().read().await?.open_attempt(self.rotation.id).await?;
        if let Some(attempt) = open {
            return Attempt::take_up(self, attempt).await;
        }
        let rotation = &self.rotation;
        let is_disabled = rotation.status == RotationStatus::Disabled;
        if rotation.retire_at.is_some_and(|at| at <= now) {
            return self.retire().await;
        }
        if !is_disabled && rotation.check_at.is_some_and(|at| at <= now) {
            return self.check().await;
        }
        let rotates = matches!(rotation.status, RotationStatus::Active | RotationStatus::Error);
        if rotates && rotation.next_rotation_at <= now {
            return self.rotate().await;
        }
        // Nothing to do. Store the new time of work, or the rotation would be claimed again and
        // again.
        let mut tx = self.begin().await?;
        self.write(tx.as_mut(), false).await?;
        Ok(tx.commit().await?)
    }
}

impl Engine {
    pub(super) fn mark_unfinished(&self, rotation: RotationId) {
        lock(&self.shared::<Interrupted>().0).insert(rotation);
    }

    /// True if this process itself left the rotation unfinished, without crashing. Clears the mark.
    pub(super) fn has_left(&self, rotation: RotationId) -> bool {
        lock(&self.shared::<Interrupted>().0).remove(&rotation)
    }

    fn seats(&self) -> Arc<super::Seats> {
        self.shared()
    }
}
