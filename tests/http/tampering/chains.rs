//! Tests of inheritance chains, written directly to the database, that the service would never
//! create, such as cycles.

use secrets_core::model::EnvironmentId;
use secrets_core::store::EnvironmentRecord;
use secrets_tests::{App, Reply, paths};
use serde_json::json;

use super::Victim;

async fn an_environment_that_inherits_from_itself_is_refused_by_every_request(app: App) {
    let victim = Victim::of(app).await;
    let template = victim.template().await;
    let id = EnvironmentId::draw(template.created_at);
    let name = "circle".parse().unwrap();
    let circle = EnvironmentRecord { id, name, inherits_from: Some(id), ..template };

    victim.insert(&[circle]).await;

    for reply in victim.follow("circle").await {
        reply.is(400).code("circular_inheritance");
    }
}

async fn an_environment_that_inherits_from_a_cycle_is_refused(app: App) {
    let victim = Victim::of(app).await;
    let template = victim.template().await;
    let ids = [(); 2].map(|()| EnvironmentId::draw(template.created_at));
    let [circle, child] = [("circle", ids[0]), ("child", ids[1])].map(|(name, id)| {
        let name = name.parse().unwrap();
        EnvironmentRecord { id, name, inherits_from: Some(ids[0]), ..template.clone() }
    });

    victim.insert(&[circle, child]).await;

    for reply in victim.follow("child").await {
        reply.is(400).code("circular_inheritance");
    }
    let body = json!({ "name": "another", "inherits_from": "child" });
    let path = paths::environments(&victim.project);
    victim.person.post(&path, &body).await.is(400).code("circular_inheritance");
}

async fn a_chain_of_seventeen_is_refused_and_one_of_sixteen_is_not(app: App) {
    let victim = Victim::of(app).await;
    let template = victim.template().await;
    let mut chain: Vec<EnvironmentRecord> = Vec::new();
    for number in 1..=17 {
        let id = EnvironmentId::draw(template.created_at);
        let name = format!("link-{number}").parse().unwrap();
        let inherits_from = chain.last().map(|parent| parent.id);
        chain.push(EnvironmentRecord { id, name, inherits_from, ..template.clone() });
    }

    victim.insert(&chain).await;
    victim.person.secret(&victim.project, "link-1", "KEY", "kvc_far").await;

    for reply in victim.follow("link-16").await {
        reply.is(200);
    }
    for reply in victim.follow("link-17").await {
        reply.is(400).code("invalid_request");
    }
}

secrets_tests::on_every_store!(
    an_environment_that_inherits_from_itself_is_refused_by_every_request,
    an_environment_that_inherits_from_a_cycle_is_refused,
    a_chain_of_seventeen_is_refused_and_one_of_sixteen_is_not,
);

impl Victim {
    /// Returns the stored record of the environment `development`, but not marked as a default
    /// environment. Tests change it to create further environments.
    async fn template(&self) -> EnvironmentRecord {
        let resolved = self.app.resolve_environment(&self.project, "development").await;
        let environment = resolved.chain.into_iter().next().unwrap().environment;
        EnvironmentRecord { is_default: false, ..environment }
    }

    async fn insert(&self, environments: &[EnvironmentRecord]) {
        let mut tx = self.app.store.begin().await.unwrap();
        for environment in environments {
            tx.insert_environment(environment).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    /// Sends each kind of request that resolves inherited secrets of an environment.
    async fn follow(&self, environment: &str) -> Vec<Reply> {
        let list = self.person.get(&paths::secrets(&self.project, environment)).await;
        let values = self.values(&self.project, environment, "KEY").await;
        std::iter::once(list).chain(values).collect()
    }
}
