import Base
import Network
import XFTP

/// One request to the relay: a block and, for FPUT, the chunk, which is written to disk while it arrives. Runs on the
/// connection's thread.
final class RelayExchange: ServerExchange {
    private enum Work {
        /// The block is incomplete, or the handshake is not finished.
        case gathering
        /// Performed when the request is complete. Bytes after the block are ignored.
        case command(RelaySession.Request)
        case upload(ChunkUpload, RelaySession.Request)
        /// The chunk is already stored: check the length and ignore the bytes.
        case repeated(size: UInt64, RelaySession.Request)
        case over
    }

    private let session: RelaySession
    private var block: [UInt8] = []
    /// The number of missing bytes of the block.
    private var missing = Block.size
    private var work = Work.gathering
    private var bodyLength: UInt64 = 0
    /// Fixed at the start, because a concurrent request may finish the handshake.
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

    /// Examines the complete block. Returns a refusal at once, so that the client need not send the chunk.
    private func begin() -> [UInt8]? {
        // Free the block, since an upload may last for minutes.
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

    /// Processes bytes after the block.
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
