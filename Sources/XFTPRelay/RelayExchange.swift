import Base
import Network
import XFTP

/// One request to the relay: a block, and after that of an FPUT the chunk, which goes to disk as it
/// comes. Lives on the connection's thread.
final class RelayExchange: ServerExchange {
    private enum Work {
        /// The block is not complete, or the handshake goes on.
        case gathering
        /// Carried out when the request is complete; what follows the block does not matter.
        case command(RelaySession.Request)
        case upload(ChunkUpload, RelaySession.Request)
        /// The chunk is there already: its length is checked, its bytes are dropped.
        case repeated(size: UInt64, RelaySession.Request)
        case over
    }

    private let session: RelaySession
    private var block: [UInt8] = []
    /// Bytes of the block that have not come yet.
    private var missing = Block.size
    private var work = Work.gathering
    private var bodyLength: UInt64 = 0
    /// Decided when the request begins; another one may finish the handshake meanwhile.
    private let isHandshake: Bool

    init(session: RelaySession) {
        self.session = session
        isHandshake = !session.isReady
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws -> (any BodySource)? {
        let count = min(missing, bytes.count)
        let rest = UnsafeRawBufferPointer(rebasing: bytes[count...])
        if count > 0 {
            block.reserveCapacity(Block.size)
            block.append(contentsOf: bytes[..<count])
            missing -= count
            if missing == 0, !isHandshake, let refusal = begin() { return BytesBody(refusal) }
        }
        return rest.isEmpty ? nil : take(rest)
    }

    /// Looks at the complete block. Answers at once what will not be done, so that a client need not
    /// send a chunk for nothing.
    private func begin() -> [UInt8]? {
        // Nobody looks at it again, and an upload may last for minutes.
        defer { block = [] }
        switch session.examine(block) {
        case .refused(let answer):
            work = .over
            return answer
        case .request(let request):
            guard case .upload = request.command, case .sender(let record) = request.subject else {
                work = .command(request)
                return nil
            }
            if record.isStored {
                work = .repeated(size: UInt64(record.size), request)
                return nil
            }
            do {
                work = .upload(try session.service.beginUpload(of: record), request)
                return nil
            } catch {
                work = .over
                return session.answer(.error(RelayService.refusal(of: error)), to: request.transmission)
            }
        }
    }

    /// Takes bytes after the block.
    private func take(_ bytes: UnsafeRawBufferPointer) -> (any BodySource)? {
        bodyLength += UInt64(bytes.count)
        guard case .upload(let upload, let request) = work else { return nil }
        do {
            try upload.receive(bytes)
            if upload.isTooLong { throw XFTPProtocolError.size }
            return nil
        } catch {
            session.service.files.discard(upload)
            work = .over
            return BytesBody(
                session.answer(.error(RelayService.refusal(of: error)), to: request.transmission))
        }
    }

    func finish() throws -> any BodySource {
        defer { work = .over }
        switch work {
        case .gathering where isHandshake: return BytesBody(session.shakeHands(block))
        case .command(let request): return session.perform(request)
        case .upload(let upload, let request):
            return answer(to: request) { try self.session.service.finish(upload) }
        case .repeated(let size, let request):
            return answer(to: request) {
                guard self.bodyLength == size else { throw XFTPProtocolError.size }
                return .ok
            }
        case .gathering, .over:
            guard case .refused(let refusal) = session.examine(block) else { return BytesBody([]) }
            return BytesBody(refusal)
        }
    }

    private func answer(
        to request: RelaySession.Request, _ body: () throws -> XFTPResponse
    ) -> BytesBody {
        let response: XFTPResponse
        do {
            response = try body()
        } catch {
            response = .error(RelayService.refusal(of: error))
        }
        return BytesBody(session.answer(response, to: request.transmission))
    }

    func abandon() {
        if case .upload(let upload, _) = work { session.service.files.discard(upload) }
        work = .over
    }
}
