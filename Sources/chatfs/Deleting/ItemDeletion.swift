import Base
import ChatCore
import CommandLineKit
import Desktop

/// Finds and deletes messages for `chatfs delete` in the process that has the profile. Thread-safe.
struct ItemDeletion: Sendable {
    let core: any ChatCore
    let chats: @Sendable () async throws(ChatError) -> NamedChats
    /// Returns the item of a mount's entry, or nil.
    let entry: @Sendable (UInt64) async throws -> ChatItem?
    /// Deletes items of one chat.
    let deleteTogether: @Sendable ([ChatItem], DeletionMode) async throws -> Void
    var clock: any WallClock = SystemWallClock()

    private static let pageSize = 500

    func answer(_ request: DeleteRequest) async throws -> DeleteAnswer {
        switch request.action {
        case .find: try await find(request)
        case .carryOut: try await carryOut(request)
        }
    }

    // MARK: - Finding

    private func find(_ request: DeleteRequest) async throws -> DeleteAnswer {
        if let number = request.entry {
            guard let item = try await entry(number) else {
                throw Refusal(
                    "This is not a sent or received file. 'chatfs cancel' removes unsent files."
                )
            }
            return try await found(item, request, in: chats()[item.chat]?.name ?? "\(item.chat)")
        }
        let chat = try await chats().chat(request.chat ?? "")
        guard let file = request.file else { return try await countAll(of: chat, request) }
        let item = try await item(file, in: chat)
        return try found(item, request, in: chat.name)
    }

    private func found(_ item: ChatItem, _ request: DeleteRequest, in chat: String) throws -> DeleteAnswer {
        try check([item], request)
        let name = ItemSelection.name(of: item)
        return DeleteAnswer(
            found: .init(item: item.id, chat: item.chat, chatName: chat, name: name), files: 1,
            bytes: item.bytesHere)
    }

    private func item(_ word: String, in chat: NamedChat) async throws -> ChatItem {
        var selection = ItemSelection(word)
        try await pages(of: chat.reference, from: nil) { page in
            selection.consider(page)
            return true
        }
        if let item = try selection.result(in: chat.name) { return item }
        // Numbers come last, because a name may be a number.
        if let number = Int64(word), number > 0 {
            do throws(ChatError) {
                let item = try await core.item(ItemID(number), in: chat.reference)
                if item.file != nil { return item }
            } catch {
                guard error.code == .noSuchItem else { throw error }
            }
        }
        throw ChatError(.noSuchItem, "\(chat.name) has no file \(word).")
    }

    private func countAll(of chat: NamedChat, _ request: DeleteRequest) async throws -> DeleteAnswer {
        guard request.forEveryone != true else {
            throw Refusal("--for-everyone deletes single files, not all files of a chat.")
        }
        var answer = DeleteAnswer(chat: chat.reference, chatName: chat.name)
        try await pages(of: chat.reference, from: nil) { page in
            answer.next = answer.next ?? page.first?.id.rawValue
            for item in page where request.means(item) {
                answer.files += 1
                answer.bytes += item.bytesHere
            }
            return true
        }
        return answer
    }

    // MARK: - Deleting

    private func carryOut(_ request: DeleteRequest) async throws -> DeleteAnswer {
        guard let chat = request.chat.flatMap(ChatReference.init) else {
            throw Refusal("The request names no chat.")
        }
        let mode = request.forEveryone == true ? DeletionMode.broadcast : .internal
        if let numbers = request.items {
            var items: [ChatItem] = []
            for number in numbers.prefix(DeleteRequest.maxItems) {
                items.append(try await core.item(ItemID(number), in: chat))
            }
            try check(items, request)
            return try await delete(items, mode)
        }
        guard let through = request.through, mode == .internal else {
            throw Refusal("The request names no files.")
        }
        var (meant, last, isFull): ([ChatItem], Int64?, Bool) = ([], nil, false)
        try await pages(of: chat, from: through) { page in
            for item in page {
                last = item.id.rawValue
                if request.means(item) { meant.append(item) }
                isFull = meant.count >= DeleteRequest.maxItems
                if isFull { return false }
            }
            return true
        }
        var answer = try await delete(meant, mode)
        if isFull, let last, last > 1 { answer.next = last - 1 }
        return answer
    }

    private func delete(_ items: [ChatItem], _ mode: DeletionMode) async throws -> DeleteAnswer {
        var answer = DeleteAnswer()
        guard !items.isEmpty else { return answer }
        var parts = [items]
        while let part = parts.popLast() {
            do {
                try await deleteTogether(part, mode)
            } catch let error as ChatError where error.code == .noSuchItem {
                // Deletion is all or nothing, and one item was deleted concurrently.
                if part.count > 1 { parts += part.map { [$0] } }
                continue
            }
            answer.files += part.count
            answer.bytes += part.reduce(0) { $0 + $1.bytesHere }
        }
        return answer
    }

    private func check(_ items: [ChatItem], _ request: DeleteRequest) throws(Refusal) {
        guard request.forEveryone == true else { return }
        let now = clock.now()
        for item in items {
            if let refusal = item.refusesDeletionForEveryone(at: now) { throw Refusal(refusal) }
        }
    }

    /// Passes the items of a chat, newest first, until `body` returns false.
    /// - Parameter through: Highest item number; nil for all.
    private func pages(
        of chat: ChatReference, from through: Int64?, _ body: ([ChatItem]) throws -> Bool
    ) async throws {
        var before = through.flatMap { $0 < .max ? ItemID($0 + 1) : nil }
        while true {
            let page = try await core.items(of: chat, before: before, count: Self.pageSize)
            guard try body(page), page.count == Self.pageSize, let last = page.last else { return }
            before = last.id
        }
    }
}

extension DeleteRequest {
    /// Returns true if the item belongs to all files of a chat.
    fileprivate func means(_ item: ChatItem) -> Bool {
        item.file != nil && (onlySent != true || item.direction == .sent)
    }
}

extension ChatItem {
    /// Local bytes of its file, as in `chatfs storage`.
    fileprivate var bytesHere: UInt64 { file?.source == nil ? 0 : file?.size ?? 0 }
}
