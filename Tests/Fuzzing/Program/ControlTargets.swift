import ChatCore
import FoundationEssentials

@testable import Desktop
@testable import EmbeddedCore
@testable import XFTP

extension Target {
    /// Our own JSON, perhaps written by another program.
    static let control = [
        Target("control-line", "requests on the control socket", longest: 1024) { bytes in
            let types: [any ControlRequest.Type] = [
                SendingInquiry.self, TextRequest.self, CacheRequest.self, ChatManagementRequest.self,
                StandaloneRequest.self, KeepRequest.self, LinkRequest.self, ContactRequest.self,
                FreeRequest.self, DeleteRequest.self,
            ]
            for type in types { _ = try? JSONDecoder().decode(type, from: Data(bytes)) }
            guard let request = try? JSONDecoder().decode(FileRequest.self, from: Data(bytes)),
                let message = request.composedMessage(stagingFolder: "/staging")
            else { return }
            let name = message.source.path.dropFirst("/staging/".count)
            hold(message.source.path.hasPrefix("/staging/") && !name.isEmpty, "a file lies in the folder")
            hold(!name.contains("/") && name != ".." && name != ".", "and nowhere else")
            hold(SafeFileName.make(from: message.fileName) == message.fileName, "its name is safe")
            let again = FileRequest(message, to: request.chat).composedMessage(stagingFolder: "/staging")
            hold(
                again?.source == message.source && again?.content == message.content
                    && again?.modified == message.modified && again?.size == message.size,
                "what is asked again is the same")
        },
        Target("program-line", "requests on the socket for programs", longest: 1024) { bytes in
            func decode<Request: ControlRequest>(_ type: Request.Type) {
                guard let request = try? JSONDecoder().decode(type, from: Data(bytes)) else { return }
                let again = (try? JSONEncoder().encode(request)).flatMap {
                    try? JSONDecoder().decode(type, from: $0)
                }
                hold(again == request, "a written request is the same")
            }
            decode(BareRequest<DoneAnswer>.self)
            decode(ItemsRequest.self)
            decode(ItemRequest.self)
            decode(SubscribeRequest.self)
            decode(EntryRequest.self)
            decode(ChatRequest.self)
            decode(ChatTextRequest.self)
            decode(ChatKeepRequest.self)
            decode(UploadRequest.self)
            decode(ApprovalRequest.self)
        },
        Target("relay-line", "requests and answers on the socket of a relay", longest: 512) { bytes in
            if let request = try? JSONDecoder().decode(RelayRequest.self, from: Data(bytes)),
                let text = try? JSONEncoder().encode(request)
            {
                let again = try? JSONDecoder().decode(RelayRequest.self, from: text)
                hold(again == request, "a written request is the same")
                guard request.isSensible else { return }
                let ages = [request.unused, request.idle, request.chunks].compactMap { $0 }
                hold(ages.allSatisfy { $0 >= 0 && $0 <= RelayRequest.longest }, "a time makes sense")
            }
            if let answer = try? JSONDecoder().decode(RelayAnswer.self, from: Data(bytes)),
                let text = try? JSONEncoder().encode(answer)
            {
                let again = try? JSONDecoder().decode(RelayAnswer.self, from: text)
                hold(again == answer, "a written answer is the same")
            }
        },
        Target("control-answer", "answers on the control socket", longest: 512) { bytes in
            if let answer = try? JSONDecoder().decode(CacheAnswer.self, from: Data(bytes)),
                let text = try? JSONEncoder().encode(answer)
            {
                let again = try? JSONDecoder().decode(CacheAnswer.self, from: text)
                hold(again == answer, "a written answer is the same")
            }
            if let terms = try? JSONDecoder().decode(ControlAnswer<SendingTerms>.self, from: Data(bytes)),
                let text = try? JSONEncoder().encode(terms)
            {
                let again = try? JSONDecoder().decode(ControlAnswer<SendingTerms>.self, from: text)
                hold(again == terms, "a written answer is the same")
            }
            if let reply = try? JSONDecoder().decode(ControlAnswer<SendingReply>.self, from: Data(bytes)),
                let text = try? JSONEncoder().encode(reply)
            {
                let again = try? JSONDecoder().decode(ControlAnswer<SendingReply>.self, from: text)
                hold(again == reply, "a written reply is the same")
            }
        },
        Target("key-answer", "answers of processes that hold the key", longest: 16) { bytes in
            guard let (holder, seconds) = KeyMessage.holder(in: bytes) else { return }
            let again = KeyMessage.holder(in: KeyMessage.head(holder, seconds: seconds))
            hold(again?.holder == holder && again?.seconds == seconds, "a written answer is the same")
        },
        Target("upload-state", "saved states of uploads", longest: 2048) { bytes in
            guard let state = try? UploadStateText.decode(bytes) else { return }
            guard let text = try? UploadStateText.encode(state), let again = try? UploadStateText.decode(text)
            else { return hold(false, "a written state is read") }
            hold(again.chunks.count == state.chunks.count && again.size == state.size, "and is the same")
            hold(
                again.isOf(fileName: state.fileName, size: state.size, recipients: state.recipients)
                    == state.isOf(fileName: state.fileName, size: state.size, recipients: state.recipients),
                "and belongs to the same file")
            for chunk in state.chunks {
                for replica in [chunk.senderReplica, chunk.recipientReplica(0), chunk.recipientReplica(-1)] {
                    hold(replica.map { $0.id.count <= 255 } ?? true, "an ID fits into a request")
                }
            }
        },
    ]
}
