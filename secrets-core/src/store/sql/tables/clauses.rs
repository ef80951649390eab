//! Clauses that several SQL statements contain: `FROM` clauses and conditions. Macros, because SQL
//! statements are string literals.

/// `FROM` clause for scans, without the scans of deleted projects.
macro_rules! shown_scans {
    () => {
        " FROM scans s LEFT JOIN projects p ON p.id = s.project_id
          WHERE (s.project_id IS NULL OR p.deleted_at IS NULL)"
    };
}

/// `FROM` item for the projects of a team ($1) that are not purged: those that are not deleted, and
/// those that were deleted after the Unix epoch ($2) or at that time. Two queries, because with an
/// `OR` condition, SQLite would use only the team column of the index.
macro_rules! unpurged_projects {
    () => {
        "(SELECT id FROM projects WHERE team_id = $1 AND deleted_at IS NULL
          UNION ALL SELECT id FROM projects WHERE team_id = $1 AND deleted_at >= $2) p"
    };
}

/// SQL condition that is true if the scope of a service token includes a project.
macro_rules! token_holds_project {
    () => {
        "k.team_id = p.team_id AND (k.all_projects OR EXISTS (SELECT 1 FROM token_projects x
             WHERE x.token_id = k.id AND x.project_id = p.id))"
    };
}

/// `FROM` clause for projects, with the relation of a user ($3) or service token ($4) to each
/// project.
macro_rules! project_relations {
    () => {
        concat!(
            "FROM projects p
             JOIN teams t ON t.id = p.team_id
             LEFT JOIN members m ON m.team_id = p.team_id AND m.user_id = $3
             LEFT JOIN tokens k ON k.id = $4 AND ",
            token_holds_project!()
        )
    };
}

/// `FROM` clause for a project by ID ($1) or slug ($2), with the relation of a user ($3) or service
/// token ($4) to it.
macro_rules! relation {
    () => {
        concat!(
            project_relations!(),
            " WHERE p.id = COALESCE($1, (SELECT id FROM projects WHERE slug = $2))
                  AND p.deleted_at IS NULL"
        )
    };
}
