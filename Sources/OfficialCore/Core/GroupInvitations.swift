import Base
import ChatCore
import CoreServices

/// Invitations to groups, listed with contact requests. The core numbers both separately, so an offset is
/// added to numbers of groups.
struct GroupInvitations: Sendable {
    private let connection: CoreConnection
    private let user: Int64

    /// The offset, larger than any number of a request.
    static let first: Int64 = 1_000_000_000

    init(_ connection: CoreConnection, user: Int64) {
        self.connection = connection
        self.user = user
    }

    /// Returns nil if the core does not support queries.
    func all() async throws(ChatError) -> [WaitingRequest]? {
        let rows = try await connection.rows(
            """
            SELECT m.group_id, strftime('%s', m.created_at), hex(p.display_name), hex(coalesce(c.local_display_name, '')), \
            c.contact_id \
            FROM group_members m JOIN groups g ON g.group_id = m.group_id \
            JOIN group_profiles p ON p.group_profile_id = g.group_profile_id \
            LEFT JOIN contacts c ON c.contact_id = m.invited_by WHERE m.user_id = \(user) \
            AND m.member_category = 'user' AND m.member_status = 'invited' ORDER BY m.group_id
            """)
        return rows?.compactMap { row in
            let cells = row.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count >= 4, let group = Int64(cells[0]),
                let name = Hexadecimal.decode(String(cells[2])),
                let host = Hexadecimal.decode(String(cells[3]))
            else { return nil }
            let contact = cells.count > 4 ? Int64(cells[4]) : nil
            return WaitingRequest(
                number: Self.first + group, name: String(decoding: host, as: UTF8.self),
                time: Timestamp(seconds: Int64(cells[1]) ?? 0), text: "",
                group: String(decoding: name, as: UTF8.self), chat: contact.map { .direct($0) })
        }
    }

    /// Returns the group of a number, or nil for the number of a contact request.
    /// - Throws: `.noSuchRequest` for a group without an invitation.
    func group(of number: Int64) async throws(ChatError) -> Int64? {
        guard number > Self.first else { return nil }
        guard try await all()?.contains(where: { $0.number == number }) == true else {
            throw ChatError.noSuchRequest(number)
        }
        return number - Self.first
    }
}
