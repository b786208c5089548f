import Store

extension Schema {
    /// Limits and retention use the database's clock (`StoredClock`); times stored by the wall clock restart
    /// from 0. `accepted`: time of an automatic acceptance.
    ///
    /// `is_refused`: the contact's server refuses messages, which are retried. `verified_code`: the verified
    /// security code; cleared when `verification` becomes `revoked`. `requires_verification`: sending needs a
    /// verification of the current keys.
    /// verification of the present keys nothing is sent into a chat that `requires_verification`.
    static let ownClock = """
        \(StoredClock.schema)
        UPDATE network_group SET begun_since = 0;
        UPDATE member_connection SET since = 0;
        UPDATE handed_message SET noted = 0;
        UPDATE group_delivery SET sent = 0;
        ALTER TABLE contact_request ADD COLUMN accepted INTEGER;
        ALTER TABLE chat ADD COLUMN is_refused INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE chat ADD COLUMN verification TEXT NOT NULL DEFAULT 'unverified'
            CHECK (verification IN ('unverified', 'verified', 'revoked'));
        ALTER TABLE chat ADD COLUMN verified_code TEXT;
        ALTER TABLE chat ADD COLUMN requires_verification INTEGER NOT NULL DEFAULT 0;
        """
}
