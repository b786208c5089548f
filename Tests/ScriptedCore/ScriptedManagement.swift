/// Commands about whole chats and about files without a chat.
struct ScriptedManagement {
    private let text: String
    private let words: [String]

    init(_ text: String) {
        self.text = text
        words = text.split(separator: " ", maxSplits: 3).map(String.init)
    }

    /// Returns nil for other commands.
    func answer(_ state: inout ScriptedState) -> String? {
        if text.hasPrefix("/_set alias "), words.count == 4 {
            let chat = words[2]
            state.aliases[chat] = words[3]
            return chat.hasPrefix("@")
                ? told("contactAliasUpdated", "toContact", state.contact(chat))
                : told("groupAliasUpdated", "toGroup", state.group(chat))
        }
        if text.hasPrefix("/_leave #"), let chat = words[1].split(separator: " ").first.map(String.init) {
            guard state.left.insert(chat).inserted else { return Self.refusal("groupMemberUserRemoved") }
            state.deliveries += 1
            return told("leftMemberUser", "groupInfo", state.group(chat))
        }
        if text.hasPrefix("/_delete @") || text.hasPrefix("/_delete #") { return delete(&state) }
        if text.hasPrefix("/_upload ") || text.hasPrefix("/_download ") { return begin(&state) }
        return nil
    }

    private func delete(_ state: inout ScriptedState) -> String {
        let chat = words[1]
        guard let id = Int64(chat.dropFirst()) else { return Self.refusal("contactNotFound") }
        if chat.hasPrefix("#") {
            // The real core refuses this for a member, and an owner's deletion ends the group for all.
            guard state.left.contains(chat) || state.invitedInto.remove(id) != nil else {
                return Self.refusal("groupUserRole")
            }
            defer { state.groups[id] = nil }
            return told("groupDeletedUser", "groupInfo", state.group(chat))
        }
        if words.dropFirst(2).contains("entity") {
            if state.left.insert(chat).inserted { state.deliveries += 1 }
            return told("contactDeleted", "contact", state.contact(chat))
        }
        if !state.left.contains(chat) { state.deliveries += 1 }
        defer { state.contacts[id] = nil }
        return told("contactDeleted", "contact", state.contact(chat))
    }

    func told(_ type: String, _ key: String, _ json: String) -> String {
        #"{"type":"\#(type)",\#(ScriptedState.user),"\#(key)":\#(json)}"#
    }

    static func refusal(_ type: String) -> String {
        #"{"type":"chatCmdError","chatError":{"type":"error","errorType":{"type":"\#(type)"}}}"#
    }

    /// For a file without a chat: the test reports its end.
    private func begin(_ state: inout ScriptedState) -> String {
        state.lastStandalone += 1
        let file = state.lastStandalone
        state.standalone.insert(file)
        return text.hasPrefix("/_upload ")
            ? #"{"type":"sndStandaloneFileCreated",\#(ScriptedState.user),"fileTransferMeta":{"fileId":\#(file)}}"#
            : #"{"type":"rcvStandaloneFileCreated",\#(ScriptedState.user),"rcvFileTransfer":{"fileId":\#(file)}}"#
    }
}
