-- Messages that users cause to be sent, by sender and by recipient, in windows of a day.
CREATE TABLE mail_counts (
    counter TEXT        NOT NULL,
    until   TIMESTAMPTZ NOT NULL,
    sent    BIGINT      NOT NULL,
    PRIMARY KEY (until, counter)
);
