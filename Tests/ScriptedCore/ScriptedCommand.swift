import Base
import Glibc

/// Performs one command of the chat API, of those that ChatFS sends.
struct ScriptedCommand {
    struct Outcome {
        /// The JSON of `resp`.
        var response: String
        var takes = Duration.zero
        /// The message whose file is received from now on.
        var received: ScriptedMessage?
    }

    private let text: String
    private let words: [String]

    init(_ text: String) {
        self.text = text
        words = text.split(separator: " ").map(String.init)
    }

    func carryOut(_ state: inout ScriptedState) -> Outcome {
        var outcome = Outcome(response: #"{"type":"cmdOk"}"#)
        var messages = 0
        if text == "/version" {
            outcome.response = #"{"type":"versionInfo","versionInfo":{"version":"6.4.5.1"}}"#
        } else if text.hasPrefix("/_db ") {
            let isExport = text.hasPrefix("/_db export")
            let type = isExport ? "archiveExported" : "archiveImported"
            if isExport { writeArchive() }
            outcome.response =
                #"{"type":"\#(type)","archiveErrors":[\#(state.archiveErrors.joined(separator: ","))]}"#
        } else if text == "/user" {
            outcome.response = #"{"type":"activeUser",\#(ScriptedState.user)}"#
        } else if text == "/network" {
            let proxy = state.hidesAddress ? #","socksProxy":"127.0.0.1:9050""# : ""
            outcome.response =
                #"{"type":"networkConfig","networkConfig":{"socksMode":"always"\#(proxy)}}"#
        } else if text.hasPrefix("/_servers ") {
            outcome.response = servers(state)
        } else if text.hasPrefix("/_get chats") {
            outcome.response = chats(state)
        } else if let unknown = unknownChat(state) {
            outcome.response = unknown
        } else if text.hasPrefix("/_get chat ") {
            (outcome.response, messages) = page(state)
        } else if text.hasPrefix("/freceive ") {
            (outcome.response, outcome.received) = receive(&state)
        } else if text.hasPrefix("/fcancel ") {
            outcome.response = cancel(&state)
        } else if text.hasPrefix("/_send ") || text.hasPrefix("/_create ") {
            outcome.response = send(&state)
        } else if text.hasPrefix("/_delete item ") {
            outcome.response = delete(&state)
        } else if let answer = ScriptedManagement(text).answer(&state) ?? ScriptedPeople(text).answer(&state)
        {
            outcome.response = answer
        } else if text.hasPrefix("/sql ") {
            outcome.response = rows(state)
        }
        outcome.takes = state.work.command + state.work.message * messages
        return outcome
    }

    /// The requested path, if it is permitted.
    private func writeArchive() {
        guard let path = text.firstMatch(of: /"archivePath":"([^"]*)"/)?.1,
            let file = fopen(String(path), "wx")
        else { return }
        fputs("archive", file)
        fclose(file)
    }

    /// The refusal of a command about a missing chat, or nil for other commands.
    private func unknownChat(_ state: ScriptedState) -> String? {
        let beginnings = [
            "/_get chat ", "/_get code ", "/_verify code ", "/_sync ", "/_send ", "/_create ",
            "/_delete item ", "/_set alias ",
            "/_leave ",
            "/_delete ", "/_read chat items ",
        ]
        guard let beginning = beginnings.first(where: text.hasPrefix),
            let chat = text.dropFirst(beginning.count).split(separator: " ").first
        else { return nil }
        return state.absence(of: String(chat)).map(Self.failure)
    }

    // MARK: - Reading

    private func servers(_ state: ScriptedState) -> String {
        let servers = state.relays.map { #"{"server":"\#($0)","enabled":true,"deleted":false}"# }
        return """
            {"type":"userServers","userServers":[{"operator":{"enabled":true},\
            "xftpServers":[\(servers.joined(separator: ","))]}]}
            """
    }

    private func chats(_ state: ScriptedState) -> String {
        let references =
            state.contacts.keys.sorted().map { "@\($0)" } + state.groups.keys.sorted().map { "#\($0)" }
        let count = words.first { $0.hasPrefix("count=") }.map { number($0) } ?? .max
        let chosen =
            count >= references.count
            ? references
            : Array(
                references.sorted { state.history.newest(of: $0) > state.history.newest(of: $1) }.prefix(
                    count))
        let chats = chosen.map { #"{"chatInfo":\#(state.info($0)),"chatItems":[]}"# }
        return #"{"type":"apiChats","chats":[\#(chats.joined(separator: ","))]}"#
    }

    private func page(_ state: ScriptedState) -> (String, Int) {
        let chat = words[2]
        let messages = state.history.messages(of: chat)
        let count = number(words.last)
        var range = max(0, messages.count - count)..<messages.count
        if let anchor = words.dropFirst(3).first(where: { !$0.hasPrefix("count=") }) {
            let id = Int64(number(anchor))
            let position = state.history.position(of: id, in: chat)
            guard messages.indices.contains(position), messages[position].id == id else {
                return (Self.failure("chatItemNotFound"), 0)
            }
            if anchor.hasPrefix("before=") { range = max(0, position - count)..<position }
            if anchor.hasPrefix("around=") {
                range = max(0, position - count)..<min(messages.count, position + count + 1)
            }
        }
        let items = messages[range].map(\.json).joined(separator: ",")
        return (
            #"{"type":"apiChat","chat":{"chatInfo":\#(state.info(chat)),"chatItems":[\#(items)]}}"#,
            range.count
        )
    }

    /// The text after the equals sign.
    private func number(_ word: String?) -> Int { Int(word?.split(separator: "=").last ?? "") ?? 0 }

    private static func failure(_ name: String) -> String {
        #"{"type":"chatCmdError","chatError":{"type":"errorStore","storeError":{"type":"\#(name)"}}}"#
    }

    /// The queries of ChatFS, identified by their text.
    private func rows(_ state: ScriptedState) -> String {
        guard state.answersQuestions else { return #"{"type":"chatCmdError","chatError":{"type":"error"}}"# }
        var rows = ["header"]
        if text.contains("created_at FROM users") {
            rows.append(state.created)
        } else if let answer = ScriptedPeople(text).rows(state) {
            rows += answer
        } else if text.contains("file_descr_text") {
            let file = text.firstMatch(of: /r\.file_id = (\d+)/).flatMap { Int64($0.1) }
            if let description = file.flatMap({ state.descriptions[$0] }) {
                rows.append(Hexadecimal.encode(Array(description.utf8)).uppercased())
            }
        } else if text.contains("last_inline_msg_delivery_id") {
            for file in state.described.sorted() { rows.append("CD/\(file)|\(file)") }
        } else if text.contains("internal_id, 1 FROM snd_message_deliveries") {
            for file in state.undescribed.sorted() { rows.append("CD/\(file)|1") }
        } else if text.contains("snd_message_deliveries") {
            rows.append(String(text.contains("count(*)") ? state.undelivered : state.deliveries))
        } else if text.contains("snd_file") {
            let isAgent = text.hasPrefix("/sql agent ")
            for file in state.forgotten.sorted() { rows.append("AB\(file)|\(isAgent ? 1 : file)") }
        } else if let match = text.firstMatch(of: /instr\(file_path, '([^']*)'\)/) {
            let items = state.history.all.filter { $0.path?.contains(match.1) == true }.map(\.id)
            rows.append(String(items.max() ?? 0))
        } else if text.contains("pragma_database_list") {
            rows.append(state.databasePath)
        } else if text.contains("'orphans'") {
            rows.append("orphans|\(state.orphans)")
        } else if text.contains("total_changes()") {
            rows.append(String(state.history.changes))
        } else if text.contains("count(*)") {
            let first = text.firstMatch(of: /chat_item_id >= (\d+)/).flatMap { Int64($0.1) }
            for (chat, count) in state.history.counts(from: first ?? 0) where count > 0 {
                let id = chat.dropFirst()
                let columns = ["@", "#", "*"].map { chat.hasPrefix($0) ? String(id) : "0" }
                rows.append((columns + [String(count)]).joined(separator: "|"))
            }
        } else if text.contains("group_scope_group_member_id") {
            for part in state.history.parts {
                let group = part.dropFirst().prefix { $0 != "(" }
                let member = part.split(separator: ":").dropFirst().first?.dropLast() ?? "0"
                rows.append("\(group)|\(member)")
            }
        }
        return #"{"type":"sQLResult","rows":[\#(rows.map { "\"\($0)\"" }.joined(separator: ","))]}"#
    }

    // MARK: - Changing

    private func receive(_ state: inout ScriptedState) -> (String, ScriptedMessage?) {
        let id = (Int64(words[1]) ?? 0) - ScriptedMessage.firstFile
        guard let offered = state.history[id], offered.text == nil else {
            return (Self.failure("userNotFoundByFileId"), nil)
        }
        guard !offered.isSent else { return (Self.failure("rcvFileNotFound"), nil) }
        if let refusal = Self.refusalToReceive(offered) { return (ScriptedManagement.refusal(refusal), nil) }
        let message = state.history.change(id) { $0.status = #"{"type":"rcvAccepted"}"# }
        guard let message else { return (Self.failure("userNotFoundByFileId"), nil) }
        return (
            #"{"type":"rcvFileAccepted",\#(ScriptedState.user),"chatItem":\#(state.pair(message))}"#,
            message
        )
    }

    private static func refusalToReceive(_ message: ScriptedMessage) -> String? {
        switch message.statusType {
        case "rcvCancelled": "fileCancelled"
        case "rcvAccepted", "rcvTransfer", "rcvComplete", "rcvError", "rcvWarning": "fileAlreadyReceiving"
        default: nil
        }
    }

    private func cancel(_ state: inout ScriptedState) -> String {
        let file = Int64(words[1]) ?? 0
        let isOver = ["rcvComplete", "rcvCancelled", "rcvError", "sndCancelled"]
        if let message = state.history[file - ScriptedMessage.firstFile], isOver.contains(message.statusType)
        {
            return ScriptedManagement.refusal("fileCancel")
        }
        let message = state.history.change(file - ScriptedMessage.firstFile) { message in
            message.status = message.isSent ? #"{"type":"sndCancelled"}"# : #"{"type":"rcvInvitation"}"#
        }
        guard let message else {
            guard state.standalone.remove(file) != nil else { return Self.failure("fileNotFound") }
            return
                #"{"type":"sndFileCancelled",\#(ScriptedState.user),"fileTransferMeta":{"fileId":\#(file)}}"#
        }
        let (type, transfer) =
            message.isSent
            ? ("sndFileCancelled", "fileTransferMeta") : ("rcvFileCancelled", "rcvFileTransfer")
        return #"{"type":"\#(type)",\#(ScriptedState.user),"\#(transfer)":{"fileId":\#(file)},"#
            + #""chatItem_":\#(state.pair(message))}"#
    }

    private func send(_ state: inout ScriptedState) -> String {
        let path = text.firstMatch(of: /"filePath":"([^"]*)"/).map { String($0.1) } ?? ""
        var message = ScriptedMessage(
            id: state.history.newest + 1, chat: words[1], isSent: true,
            name: path.lastPathName ?? "")
        message.status = #"{"type":"sndStored"}"#
        message.path = path
        if path.isEmpty {
            message.type = "text"
            message.text = text.firstMatch(of: /"text":"((?:[^"\\]|\\.)*)"/).map { String($0.1) } ?? ""
        }
        state.history.append(message)
        return #"{"type":"newChatItems",\#(ScriptedState.user),"chatItems":[\#(state.pair(message))]}"#
    }

    private func delete(_ state: inout ScriptedState) -> String {
        let ids = words[3].split(separator: ",").compactMap { Int64($0) }
        let gone = ids.compactMap { id in
            state.history[id]?.chat == words[2] ? state.history.remove(id) : nil
        }
        let deletions = gone.map { #"{"deletedChatItem":\#(state.pair($0))}"# }.joined(separator: ",")
        return """
            {"type":"chatItemsDeleted",\(ScriptedState.user),"chatItemDeletions":[\(deletions)]}
            """
    }
}

extension ScriptedState {
    /// `AChatItem`.
    func pair(_ message: ScriptedMessage) -> String {
        #"{"chatInfo":\#(info(message.chat)),"chatItem":\#(message.json)}"#
    }

    /// `chatInfo` of a chat or group scope.
    func info(_ chat: String) -> String {
        let reference = chat.prefix { $0 != "(" }
        let id = Int64(reference.dropFirst()) ?? 0
        if chat.hasPrefix("@") { return #"{"type":"direct","contact":\#(contact(chat))}"# }
        if chat.hasPrefix("#") {
            let member = chat.split(separator: ":").dropFirst().first?.dropLast()
            let scope =
                chat.contains("(")
                ? #","groupChatScope":{"type":"memberSupport"\#(member.map { #","groupMemberId_":\#($0)"# } ?? "")}"#
                : ""
            return #"{"type":"group","groupInfo":\#(group(String(reference)))\#(scope)}"#
        }
        return #"{"type":"local","noteFolder":{"noteFolderId":\#(id),"chatTs":"\#(lastTime(of: chat))"}}"#
    }

    /// `Contact`.
    func contact(_ chat: String) -> String {
        let id = Int64(chat.dropFirst()) ?? 0
        let name = escaped(contacts[id] ?? "?")
        let status = left.contains(chat) ? "deletedByUser" : "active"
        return """
            {"contactId":\(id),"localDisplayName":"\(name)","profile":{"displayName":"\(name)",\
            "localAlias":"\(escaped(aliases[chat] ?? ""))"},"contactStatus":"\(status)",\
            "activeConn":{"connStatus":"ready"},"chatTs":"\(lastTime(of: chat))"}
            """
    }

    /// `GroupInfo`.
    func group(_ chat: String) -> String {
        let id = Int64(chat.dropFirst()) ?? 0
        let name = escaped(groups[id] ?? "?")
        let status = left.contains(chat) ? "left" : invitedInto.contains(id) ? "invited" : "connected"
        return """
            {"groupId":\(id),"localDisplayName":"\(name)","groupProfile":{"displayName":"\(name)"},\
            "localAlias":"\(escaped(aliases[chat] ?? ""))","membership":{"memberRole":"owner",\
            "memberStatus":"\(status)"},"chatTs":"\(lastTime(of: chat))"}
            """
    }

    private func lastTime(of chat: String) -> String {
        ScriptedMessage.time(of: history.messages(of: chat).last?.id ?? 0)
    }
}
