-- A row that a write of secrets locks if the team's plan limits the size of all its secrets, so that the sum over its
-- environments stays valid. Not the row of the team: a change of its members waits for no write of secrets.
CREATE TABLE team_sizes (
    team_id UUID NOT NULL PRIMARY KEY REFERENCES teams (id)
);
