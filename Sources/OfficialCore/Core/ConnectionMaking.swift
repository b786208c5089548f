import Base
import ChatCore
import CoreServices

/// Connects to contacts through the core.
struct ConnectionMaking: ContactKeeping {
    private let connection: CoreConnection
    private let index: IndexStore
    private let user: Int64
    private let invitations: GroupInvitations

    init(_ connection: CoreConnection, _ index: IndexStore, user: Int64) {
        invitations = GroupInvitations(connection, user: user)
        self.connection = connection
        self.index = index
        self.user = user
    }

    func invite() async throws(ChatError) -> ContactInvitation {
        guard case .invitation(let link, let number) = try await ask(.invite(user: user)) else {
            throw Self.notUnderstood
        }
        return ContactInvitation(connection: number, link: link.shown)
    }

    /// - Returns: The number of a connection, or the negative number of an existing contact or group (see
    ///   `Made`).
    func accept(_ link: String) async throws(ChatError) -> Int64 {
        let plan = try await plan(link)
        switch plan.outcome {
        case .own: throw ChatError(.invalidCommand, "This link belongs to this profile.")
        case .used(let chat?): return Made.number(of: chat.reference.chat)
        case .used(nil):
            throw ChatError(
                .invalidCommand, "This profile has already used the link; the other side must answer.")
        case .usable: break
        }
        switch try await ask(.connect(user: user, plan.link)) {
        case .connecting(.begun(let number)): return number
        case .connecting(.known(let chat)): return Made.number(of: chat.reference.chat)
        default: throw Self.notUnderstood
        }
    }

    private func plan(_ link: String) async throws(ChatError) -> APIConnectionPlan {
        do throws(OfficialCoreError) {
            let command = APICommand.connectionPlan(user: user, link: link)
            guard case .plan(let plan) = try await connection.ask(command, timeout: .seconds(60)) else {
                throw OfficialCoreError(.notUnderstood, Self.notUnderstood.sentence)
            }
            return plan
        } catch {
            guard let refusal = error.refusal else { throw error.chatError }
            if refusal.has("commandError") || refusal.has("invalidConnReq") {
                throw ChatError(
                    .invalidCommand, "This is not a SimpleX link, or it was truncated when copied.")
            }
            if refusal.has("SMP") && refusal.has("AUTH") {
                throw ChatError(.invalidCommand, "The link was used already, or its owner has deleted it.")
            }
            throw error.chatError
        }
    }

    func contact(of number: Int64) async throws(ChatError) -> Chat? {
        guard let reference = try await reference(of: number) else { return nil }
        let chat = try await index.reading { try $0.chats.chat(reference) }
        // A member with a read-only role counts too.
        if case .group = reference { return chat?.sendingRefused == APIChatInfo.notJoined ? nil : chat }
        return chat?.sendingRefused == nil ? chat : nil
    }

    private func reference(of number: Int64) async throws(ChatError) -> ChatReference? {
        if case .chat(let reference) = Made(number) { return reference }
        let rows = try await connection.numbers(
            """
            SELECT coalesce(c.contact_id, 0), coalesce(m.group_id, 0) FROM connections c \
            LEFT JOIN group_members m ON m.group_member_id = c.group_member_id WHERE c.connection_id = \(number)
            """)
        guard let rows else { throw Self.noAnswers }
        guard let row = rows.first, row.count == 2 else { return nil }
        if row[1] > 0 { return .group(row[1]) }
        return row[0] > 0 ? .direct(row[0]) : nil
    }

    func security(of chat: ChatReference) async throws(ChatError) -> ContactSecurity? {
        guard case .direct(let contact) = chat else {
            try await requireChat(chat)
            return nil
        }
        guard case .security(let security) = try await ask(.securityCode(contact: contact)) else {
            throw Self.notUnderstood
        }
        return security
    }

    /// The core stores the verification and resets it when the keys change.
    func verify(_ chat: ChatReference, code: String?) async throws(ChatError) {
        guard case .direct(let contact) = chat else {
            try await requireChat(chat)
            throw ChatError(.invalidCommand, "Only contacts have a security code.")
        }
        guard case .verification(let isVerified, _) = try await ask(.verifyCode(contact: contact, code))
        else {
            throw Self.notUnderstood
        }
        guard isVerified == (code != nil) else {
            throw ChatError(
                .invalidCommand,
                "The codes differ: the digits are not those of this contact, or the connection is intercepted."
            )
        }
    }

    func renewKeys(of chat: ChatReference) async throws(ChatError) {
        guard case .direct(let contact) = chat else {
            try await requireChat(chat)
            throw ChatError(.invalidCommand, "Only contacts agree on new keys.")
        }
        _ = try await ask(.renewKeys(contact: contact))
    }

    func moveQueue(of chat: ChatReference) async throws(ChatError) {
        guard case .direct(let contact) = chat else {
            try await requireChat(chat)
            throw ChatError(.invalidCommand, "Only contacts are moved to another server.")
        }
        // An earlier move continues.
        _ = try await connection.answer(
            .moveQueue(contact: contact), timeout: .seconds(60), unlessRefused: \.isMovingAlready)
    }

    private func requireChat(_ chat: ChatReference) async throws(ChatError) {
        let isKnown = try await index.reading { try $0.knows(chat) }
        guard isKnown else { throw ChatError.noSuchChat }
    }

    // MARK: - The address

    func createAddress(_ acceptance: RequestAcceptance?) async throws(ChatError) -> ContactAddress {
        let address: APIAddress
        if let known = try await storedAddress() {
            address = known
        } else {
            guard case .addressCreated = try await ask(.createAddress(user: user)),
                let made = try await storedAddress()
            else { throw Self.notUnderstood }
            address = made
        }
        guard let acceptance, (acceptance == .automatically) != address.acceptsAutomatically else {
            return ContactAddress(address)
        }
        guard !address.hasOtherSettings else {
            throw ChatError(
                .invalidCommand,
                "The address has settings that this command would remove: change it in SimpleX Chat.")
        }
        try await setAcceptance(acceptance == .automatically)
        return ContactAddress(link: address.link.shown, acceptance: acceptance)
    }

    /// Versions before 6.4.4 support only the older command.
    private func setAcceptance(_ isAutomatic: Bool) async throws(ChatError) {
        let answer = try await connection.answer(
            .addressSettings(user: user, acceptsAutomatically: isAutomatic),
            unlessRefused: { $0.has("commandError") })
        if answer == nil { _ = try await ask(.autoAccept(user: user, isAutomatic)) }
    }

    func address() async throws(ChatError) -> ContactAddress? {
        try await storedAddress().map(ContactAddress.init)
    }

    private func storedAddress() async throws(ChatError) -> APIAddress? {
        let answer = try await connection.answer(
            .showAddress(user: user), unlessRefused: { $0.has("userContactLinkNotFound") })
        guard let answer else { return nil }
        guard case .address(let address) = answer else { throw Self.notUnderstood }
        return address
    }

    func deleteAddress() async throws(ChatError) {
        guard try await storedAddress() != nil else { throw ChatError.noAddress }
        _ = try await ask(.deleteAddress(user: user))
    }

    // MARK: - Requests

    func requests() async throws(ChatError) -> [WaitingRequest] {
        let rows = try await connection.rows(
            """
            SELECT r.contact_request_id, strftime('%s', r.created_at), hex(p.display_name) FROM contact_requests r \
            JOIN contact_profiles p ON p.contact_profile_id = r.contact_profile_id WHERE r.user_id = \(user) \
            AND NOT EXISTS (SELECT 1 FROM connections c WHERE c.contact_id = r.contact_id) ORDER BY r.contact_request_id
            """)
        guard let rows else { throw Self.noAnswers }
        let requests = rows.compactMap { row -> WaitingRequest? in
            let cells = row.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 3, let number = Int64(cells[0]),
                let name = Hexadecimal.decode(String(cells[2]))
            else { return nil }
            return WaitingRequest(
                number: number, name: String(decoding: name, as: UTF8.self),
                time: Timestamp(seconds: Int64(cells[1]) ?? 0), text: "")
        }
        return requests + (try await invitations.all() ?? [])
    }

    func acceptRequest(_ number: Int64) async throws(ChatError) -> Int64 {
        if let group = try await invitations.group(of: number) {
            guard case .joining(let chat) = try await ask(.joinGroup(group)) else { throw Self.notUnderstood }
            return Made.number(of: chat.reference.chat)
        }
        guard case .accepting(let contact) = try await answer(.acceptRequest(number), number) else {
            throw Self.notUnderstood
        }
        return Made.number(of: contact.reference.chat)
    }

    func rejectRequest(_ number: Int64) async throws(ChatError) {
        if let group = try await invitations.group(of: number) {
            _ = try await ask(.deleteChat(.group(group), keepsHistory: false))
            return
        }
        _ = try await answer(.rejectRequest(number), number)
    }

    private func answer(_ command: APICommand, _ number: Int64) async throws(ChatError) -> APIResponse {
        do throws(OfficialCoreError) {
            return try await connection.ask(command, timeout: .seconds(60))
        } catch {
            let isUnknown = ["contactRequestNotFound", "contactRequestNotFoundByName"].contains {
                error.refusal?.has($0) == true
            }
            throw isUnknown ? ChatError.noSuchRequest(number) : error.chatError
        }
    }

    // MARK: - Commands

    private func ask(_ command: APICommand) async throws(ChatError) -> APIResponse {
        try await connection.answer(command, timeout: .seconds(60))
    }

    private static let notUnderstood = ChatError(
        .internalError, "The SimpleX core returned an unknown answer.")
    private static let noAnswers = ChatError(
        .invalidCommand, "This SimpleX core does not support database queries; use SimpleX Chat.")
}

/// The number of a connection: positive for a connection of the core, even negative for an existing contact,
/// odd negative for an existing group.
private enum Made {
    case connection(Int64)
    case chat(ChatReference)

    init(_ number: Int64) {
        guard number < 0 else {
            self = .connection(number)
            return
        }
        // No core uses a number that large.
        let id = number == .min ? 0 : -number / 2
        self = .chat(number % 2 == 0 ? .direct(id) : .group(id))
    }

    static func number(of chat: ChatReference) -> Int64 {
        switch chat {
        case .direct(let id): -2 * id
        case .group(let id): -2 * id - 1
        case .notes, .links: 0
        }
    }
}

extension ContactAddress {
    fileprivate init(_ address: APIAddress) {
        self.init(link: address.link.shown, acceptance: address.acceptsAutomatically ? .automatically : .ask)
    }
}
