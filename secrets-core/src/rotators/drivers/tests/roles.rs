//! Tests of PostgreSQL features: roles, ownership, password verifiers and the server identity.

use super::servers::{apply, later, postgres};
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Fault, Target};

#[tokio::test]
async fn a_changed_server_identity_is_noticed() {
    let server = postgres();
    let target = server.database("identity").await;
    let mut apply = apply(PermissionLevel::Read);
    apply.identity = Some("7000000000000000000".into());

    let other = server.rotator.apply(&target, &apply).await.unwrap_err();
    apply.identity = None;
    apply.identity = server.rotator.apply(&target, &apply).await.unwrap().identity;
    let same = server.rotator.apply(&target, &apply).await;

    assert_eq!(other.fault, Fault::Identity);
    assert_eq!(same.unwrap().identity, apply.identity);
    server.clear(&target, &[&apply]).await;
}

#[tokio::test]
async fn the_administrator_is_not_changed() {
    let server = postgres();
    let target = server.database("admin").await;
    let apply = apply(PermissionLevel::Admin);
    let admin = "SELECT r::text || (SELECT count(*) FROM pg_auth_members m \
        WHERE m.member = r.oid)::text FROM pg_authid r WHERE rolname = current_user";
    let before = server.admin(&target, admin).await.unwrap();

    server.rotator.apply(&target, &apply).await.unwrap();
    server.rotator.lock(&target, apply.fence, &apply.login.username).await.unwrap();

    assert_eq!(server.admin(&target, admin).await.unwrap(), before);
    server.clear(&target, &[&apply]).await;
}

#[tokio::test]
async fn createrole_and_ownership_of_the_database_suffice() {
    let server = postgres();
    let (level, maker) = (PermissionLevel::Admin, apply(PermissionLevel::Read));
    // A name with upper-case letters: without quotes it would be another name.
    let owner = format!("{}-Owner", maker.login.username);
    let name = server.quoted(&owner);
    server.rotator.apply(&server.target, &maker).await.unwrap();
    // Created as a rotated user, so that no statement contains a password.
    let rename = format!("ALTER ROLE {} RENAME TO {name}", maker.login.username);
    let target = server.database("owned").await;
    for sql in [
        rename,
        format!("ALTER ROLE {name} RESET role"),
        format!("REVOKE {} FROM {name}", maker.group),
        format!("ALTER DATABASE {} OWNER TO {name}", server.quoted(&target.database)),
        format!("ALTER ROLE {name} CREATEROLE"),
    ] {
        server.admin(&target, &sql).await.unwrap();
    }
    for sql in [format!("ALTER TABLE things OWNER TO {name}")] {
        server.admin(&target, &sql).await.unwrap();
    }
    let owner = Target {
        admin_username: owner,
        admin_password: maker.login.password.clone(),
        ..target.clone()
    };
    let applied = apply(level);

    server.rotator.test(&owner).await.unwrap();
    server.rotator.apply(&owner, &applied).await.unwrap();

    server.rotator.verify(&owner, &applied.login, level).await.unwrap();
    server.admin(&owner, "CREATE TABLE later (id integer)").await.unwrap();
    server.user(&owner, &applied.login, "SELECT id FROM later").await.unwrap();
    server.user(&owner, &applied.login, "CREATE TABLE made (id integer)").await.unwrap();
    let who = "SELECT tableowner FROM pg_tables WHERE tablename = 'made'";
    assert_eq!(server.admin(&target, who).await.unwrap().concat(), applied.group);

    server.admin(&target, &format!("ALTER ROLE {name} NOCREATEROLE")).await.unwrap();
    let test = server.rotator.test(&owner).await.unwrap_err();
    let again = server.rotator.apply(&owner, &later(&applied, 2)).await.unwrap_err();
    assert_eq!((test.fault, again.fault), (Fault::Privilege, Fault::Privilege));
    server.clear(&target, &[&applied]).await;
    for sql in [format!("DROP OWNED BY {}", maker.group), format!("DROP ROLE {name}")] {
        server.admin(&server.target, &sql).await.unwrap();
    }
    server.admin(&server.target, &format!("DROP ROLE {}", maker.group)).await.unwrap();
}

#[tokio::test]
async fn a_password_is_stored_as_a_verifier() {
    let server = postgres();
    let target = server.database("verifier").await;
    let apply = apply(PermissionLevel::Read);

    let applied = server.rotator.apply(&target, &apply).await.unwrap();

    assert!(!applied.sent_in_clear);
    let kept = format!(
        "SELECT left(rolpassword, 18) FROM pg_authid WHERE rolname = '{}'",
        apply.login.username
    );
    assert_eq!(server.admin(&target, &kept).await.unwrap(), ["SCRAM-SHA-256$4096"]);
    server.clear(&target, &[&apply]).await;
}
