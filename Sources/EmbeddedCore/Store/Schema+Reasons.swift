extension Schema {
    /// Reasons of connections (`ConnectionReason`). Older connections get theirs from related rows or, for
    /// joined links, from the agent.
    static let reasons = """
        ALTER TABLE connection ADD COLUMN reason TEXT;
        UPDATE connection SET reason = 'own address' WHERE EXISTS (
            SELECT 1 FROM contact_address a
            WHERE a.profile = connection.profile AND a.connection = connection.number);
        UPDATE connection SET reason = (
            SELECT iif(r.chat IS NULL, 'requester', 'group invitation ' || r.chat) FROM contact_request r
            WHERE r.profile = connection.profile AND r.connection = connection.number ORDER BY r.id LIMIT 1)
            WHERE reason IS NULL;
        UPDATE connection SET reason = (
            SELECT 'member ' || m.chat || ' ' || hex(m.member) FROM member_connection m
            WHERE m.profile = connection.profile AND m.connection = connection.number)
            WHERE reason IS NULL AND NOT EXISTS (
                SELECT 1 FROM network_group g
                WHERE g.profile = connection.profile AND g.connection = connection.number);
        """
}
