import Base
import ChatCore
import Glibc

/// The methods, with the types of their parameters and results.
extension ControlServer {
    func answer(_ exchange: ControlExchange) throws(DesktopError) {
        switch exchange.method {
        // Of programs.
        case .listChats:
            try exchange.answer { [service] (_: BareRequest<ChatsAnswer>) in
                ChatsAnswer(chats: await service.listChats())
            }
        case .listItems:
            try exchange.answer { [service] (request: ItemsRequest) in try await service.carryOut(request) }
        case .getItem:
            try exchange.answer { [service] (request: ItemRequest) in
                ItemAnswer(item: try await service.item(at: request.path, isHashing: request.hash ?? false))
            }
        case .getSyncStatus:
            try exchange.answer { [service] (_: BareRequest<StatusAnswer>) in
                StatusAnswer(status: await service.syncStatus())
            }
        case .getMetrics:
            try exchange.answer { [service] (_: BareRequest<MetricsAnswer>) in
                MetricsAnswer(metrics: await service.metricFamilies())
            }
        case .hydrate: try change(exchange, .hydrate)
        case .dehydrate: try change(exchange, .dehydrate)
        case .pin: try change(exchange, .pin)
        case .unpin: try change(exchange, .unpin)
        case .cancel: try change(exchange, .cancel)
        case .free:
            try exchange.answer { [service] (request: EntryRequest) in
                try await service.free(request.path, lastCopyToo: request.last ?? false)
            }
        case .retry:
            try exchange.answer { [service] (request: EntryRequest) in try await service.retry(request.path) }
        case .upload:
            try exchange.carryOut { [service] (request: UploadRequest) in
                try await service.carryOut(request)
            }
        case .sendText:
            try exchange.carryOut { [service] (request: ChatTextRequest) in
                try await service.sendText(request.text ?? "", to: request.chat)
            }
        case .mute, .unmute:
            try exchange.carryOut { [service] (request: ChatRequest) in
                try await service.setMuted(request.method == .mute, request.chat)
            }
        case .markRead:
            try exchange.carryOut { [service] (request: ChatRequest) in
                try await service.markRead(request.chat)
            }
        case .keep:
            try exchange.carryOut { [service] (request: ChatKeepRequest) in
                try await service.keep(request.what, of: request.chat)
            }
        case .approve:
            try exchange.carryOut { [service] (request: ApprovalRequest) in
                try await service.approve(request.relays ?? [])
            }
        case .suspend, .resume:
            try exchange.carryOut { [service] (request: BareRequest<DoneAnswer>) in
                await service.setSuspended(request.method == .suspend)
            }
        // `converse` subscribes the connection.
        case .subscribe: try exchange.send(DoneAnswer())

        // Of commands.
        case .sendingTerms:
            try exchange.answer { [self] (inquiry: SendingInquiry) in try await terms(for: inquiry) }
        case .sendFile:
            try exchange.answer { [self] (request: FileRequest) in
                try await send(request, over: exchange.channel)
            }
        case .say:
            try exchange.answer { [self] (request: TextRequest) in
                try await send(request, over: exchange.channel)
            }
        case .chats:
            try exchange.answer { [core, folders] (request: ChatManagementRequest) in
                try await request.carryOut(on: core, naming: folders)
            }
        case .links:
            try exchange.answer { [core] (request: LinkRequest) in try await request.carryOut(on: core) }
        case .contacts:
            try exchange.answer { [self] (request: ContactRequest) in try await carryOut(request) }
        case .transfer: try transfer(exchange)
        case .cache:
            try exchange.answer { [service] (request: CacheRequest) in try await service.carryOut(request) }
        case .rules:
            try exchange.answer { [service] (request: KeepRequest) in try await service.carryOut(request) }
        case .freeFiles:
            try exchange.answer { [service] (request: FreeRequest) in try await service.carryOut(request) }
        case .deleteFiles:
            try exchange.answer { [service] (request: DeleteRequest) in try await service.carryOut(request) }
        }
    }

    private func change(
        _ exchange: ControlExchange, _ action: CacheRequest.Action
    ) throws(DesktopError) {
        try exchange.answer { [service] (request: EntryRequest) in
            try await service.change(request.path, action)
        }
    }

    private func terms(for inquiry: SendingInquiry) async throws(ChatError) -> SendingTerms {
        let chat = try await folders.chats(of: core).chat(inquiry.chat)
        if let refused = chat.chat.sendingRefused { throw ChatError(.sendingRefused, refused) }
        return SendingTerms(
            chat: chat.reference.description, largest: core.limits.maxFileSize(in: chat.reference),
            stagingFolder: core.stagingFolder, removesMetadata: removesMetadata ? true : nil,
            markKey: markKey)
    }

    /// Adds the path of the chat's folder to the result.
    private func carryOut(_ request: ContactRequest) async throws(ChatError) -> ContactAnswer {
        var answer = try await request.carryOut(on: core, naming: folders)
        if let chat = answer.chat.flatMap(ChatReference.init) {
            answer.folder = await folders.names(of: [chat])[chat].map { "\(mountpoint)/\($0)" }
        }
        return answer
    }

    private func send(
        _ request: FileRequest, over channel: ControlChannel
    ) async throws(ProgramError) -> SendingReply {
        guard let message = request.composedMessage(stagingFolder: core.stagingFolder) else {
            throw ProgramError(.malformed, DesktopError.malformed.sentence)
        }
        return try await sends.withLock(message.id) { () async throws(ProgramError) -> SendingReply in
            // A client that reported a failure must not find the message sent later.
            guard !channel.isAbandoned else {
                unlink(message.source.path)
                throw ProgramError(.refused, DesktopError.hungUp.sentence)
            }
            do throws(ChatError) {
                let item = try await core.send(message, to: receiver(request.chat))
                await service.wasSent(item)
                // A repetition does not need the file.
                unlink(message.source.path)
                return SendingReply(item: item.id.rawValue)
            } catch {
                // The client stages the file again before it repeats the request.
                if error.code == .sendingUndecided { unlink(message.source.path) }
                throw ProgramError(sending: error)
            }
        }
    }

    private func send(
        _ request: TextRequest, over channel: ControlChannel
    ) async throws(ProgramError) -> SendingReply {
        guard let text = request.composed else {
            throw ProgramError(.malformed, DesktopError.malformed.sentence)
        }
        return try await sends.withLock(text.id) { () async throws(ProgramError) -> SendingReply in
            guard !channel.isAbandoned else {
                throw ProgramError(.refused, DesktopError.hungUp.sentence)
            }
            do throws(ChatError) {
                try await core.send(text, to: receiver(request.chat))
                return SendingReply()
            } catch {
                throw ProgramError(sending: error)
            }
        }
    }

    /// Returns the chat of this name if it accepts messages.
    private func receiver(_ name: String) async throws(ChatError) -> ChatReference {
        let chat = try await folders.chats(of: core).chat(name)
        if let refused = chat.chat.sendingRefused { throw ChatError(.sendingRefused, refused) }
        return chat.reference
    }
}
