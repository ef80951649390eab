//! Finding work, and having it done by one at a time.

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

/// How many rotations with work are looked at to find some that may be worked on.
const CANDIDATES: u32 = 64;

/// A rotation with work, which this node alone may do. [`Service::work`] does it.
#[derive(Debug)]
pub struct Claim {
    lease: Lease,
    _seat: Seat,
}

/// Rotations whose work failed in this process, which is still running: a later attempt need not wait
/// for their lease to end.
#[derive(Default)]
struct Interrupted(Mutex<BTreeSet<RotationId>>);

impl Engine {
    /// Claims rotations with work: those that are due, that somebody has left unfinished, whose
    /// previous credential is to be shut out or whose served one is to be tried. At most four at
    /// once on a node, and one at each host.
    pub async fn claim_rotations(&self) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        if self.ports().rotators.is_none() || !self.seats().has_room() {
            return Ok(claims);
        }
        let work = self.store().read().await?.rotation_work(self.now(), CANDIDATES).await?;
        for rotation in work {
            if !self.seats().has_room() {
                break;
            }
            claims.extend(self.claim_rotation(rotation, Asker::Schedule).await?);
        }
        Ok(claims)
    }

    /// Ends all leases. Only where no other process has the store.
    pub async fn end_rotation_leases(&self) -> StoreResult<()> {
        let mut tx = self.store().begin().await?;
        tx.end_leases().await?;
        tx.commit().await
    }

    /// The right to work on this rotation, if nobody else does and there is room.
    pub(in super::super) async fn claim_rotation(
        &self,
        rotation: RotationId,
        asker: Asker,
    ) -> Result<Option<Claim>> {
        let Some(rotators) = self.ports().rotators.as_ref() else { return Ok(None) };
        let host = self.rotation_host(rotation).await?;
        let Some(seat) = self.seats().take(&host, asker) else { return Ok(None) };
        let now = self.now();
        let mut tx = self.store().begin().await?;
        let lease = tx.take_lease(rotation, now, now + span(rotators.timings.lease)).await?;
        tx.commit().await?;
        Ok(lease.map(|lease| Claim { lease, _seat: seat }))
    }

    /// The host of a rotation's database; something of its own, where that cannot be read.
    async fn rotation_host(&self, id: RotationId) -> Result<String> {
        let otherwise = || format!("rotation {id}");
        let mut reads = self.store().read().await?;
        let (Some(rotation), Some(place)) =
            (reads.rotation(id).await?, reads.rotation_place(id).await?)
        else {
            return Ok(otherwise());
        };
        let Ok(place) = OpenPlace::new(self.keyring(), place) else { return Ok(otherwise()) };
        let seals = place.seals(self.keyring());
        let target = connection::open(&seals, reads.as_mut(), &rotation).await;
        Ok(target.map_or_else(|_| otherwise(), |target| target.host))
    }

    /// Does what there is to do about a rotation that was claimed: one thing, to its end. What is
    /// interrupted goes on from the disk when its lease has ended.
    pub async fn work(&self, claim: Claim) {
        let Some(rotators) = self.ports().rotators.as_ref() else { return };
        let rotation = claim.lease.rotation;
        match self.work_once(rotators, claim.lease).await {
            Ok(()) | Err(Halt::Lost) => {}
            Err(Halt::Failed(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(%rotation, error, "a rotation stopped, and will be taken up again");
            }
        }
    }

    async fn work_once(&self, rotators: &Rotators, lease: Lease) -> Held<()> {
        let Some(mut work) = Work::open(self, rotators, lease).await? else { return Ok(()) };
        let done = work.once().await;
        if let Err(Halt::Failed(_)) = done {
            self.remember_left(lease.rotation);
        }
        let mut tx = self.store().begin().await?;
        tx.end_lease(&work.lease).await?;
        tx.commit().await?;
        done
    }
}

impl Work<'_> {
    /// What is to be done first.
    async fn once(&mut self) -> Held<()> {
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
        // Nothing, then: so it is written, or it would be found again and again.
        let mut tx = self.begin().await?;
        self.write(tx.as_mut(), false).await?;
        Ok(tx.commit().await?)
    }
}

impl Engine {
    pub(super) fn remember_left(&self, rotation: RotationId) {
        lock(&self.shared::<Interrupted>().0).insert(rotation);
    }

    /// Whether it was this very process that left a rotation unfinished, and did not die of it.
    pub(super) fn has_left(&self, rotation: RotationId) -> bool {
        lock(&self.shared::<Interrupted>().0).remove(&rotation)
    }

    fn seats(&self) -> Arc<super::Seats> {
        self.shared()
    }
}
