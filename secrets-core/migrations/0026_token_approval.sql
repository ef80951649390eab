-- True for tokens whose text was given to a command-line session that ends before the token.
ALTER TABLE tokens ADD COLUMN outlives_session BOOLEAN NOT NULL DEFAULT FALSE;
