import Store

extension Schema {
    /// Limits, and what is remembered only for a while, go by the clock of the database (`StoredClock`): what was stored by
    /// the wall clock counts from now on. `accepted` is when a request was accepted without the user.
    ///
    /// `is_refused`: the contact's server refuses what is sent, which is tried again. `verified_code` is the security code
    /// that the user has compared, and goes when the keys are others (`verification` is `revoked` then); without a
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
