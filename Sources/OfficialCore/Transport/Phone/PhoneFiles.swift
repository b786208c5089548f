import Base
import ChatCore
import Cryptography
import Posix
import RemoteControl

/// File transfer with a phone, over its session.
struct PhoneFiles: RemoteFiles {
    /// The current session, if any.
    let connection: @Sendable () -> PhoneConnection?

    func fetch(
        _ file: RemoteFile, size: UInt64, from source: APIFileSource, into target: OpenFile,
        progress: @escaping @Sendable () -> Void
    ) async throws(OfficialCoreError) -> FileArguments {
        let connection = try present()
        do {
            let sink = try FetchedFile(
                size: size, arguments: source.arguments, target: target, progress: progress)
            let answer = try await connection.askWhileHeard(
                .fetchFile(
                    PhoneFile(
                        user: file.user, file: file.file, isSent: file.isSent, path: source.path,
                        arguments: source.arguments)),
                file: sink)
            switch answer {
            case .file:
                try await ThreadPool.shared.run { try sink.finish() }
                return sink.arguments
            case .failure(.file):
                throw OfficialCoreError(
                    refusal: APIError(path: ["errorStore", "fileNotFound"], message: nil))
            default: throw PhoneErrors.unexpected(answer)
            }
        } catch {
            throw PhoneErrors.error(error)
        }
    }

    func store(
        _ file: FileSourceLocation, size: UInt64, as name: String
    ) async throws(OfficialCoreError) -> FileSourceLocation {
        let connection = try present()
        let isDecrypted = !connection.phone.encryptsFiles
        do {
            let (body, digest) = try await ThreadPool.shared.run { () throws(any Error) in
                let body = try StoredFile(file, size: size, isDecrypted: isDecrypted)
                return (body, try body.digest())
            }
            let answer = try await connection.ask(
                .storeFile(name: name, size: UInt64(body.length), digest: digest), attachment: body)
            guard case .stored(let path) = answer else { throw PhoneErrors.notStored(answer) }
            return FileSourceLocation(path: path, arguments: isDecrypted ? nil : file.arguments)
        } catch {
            throw PhoneErrors.error(error)
        }
    }

    private func present() throws(OfficialCoreError) -> PhoneConnection {
        guard let connection = connection(), connection.isPresent else { throw PhoneErrors.away }
        return connection
    }
}

/// Converts errors of a session to those of `OfficialTransport`.
enum PhoneErrors {
    static let away = OfficialCoreError(
        .disconnected,
        "The phone is not connected. Open SimpleX on it and choose “Use from desktop”.")

    static let silent = OfficialCoreError(
        .broken,
        "The phone does not answer. Open SimpleX on it and choose “Use from desktop”.")

    /// For readers of a file that only the phone has.
    static let onlyThere = ChatError(
        .file(.unreachable),
        "This file is only on the phone, which is not connected. Open SimpleX on it and choose “Use from desktop”."
    )

    /// Returns the error for a reader: `onlyThere` if the phone is away or does not answer.
    static func forReader(_ error: ChatError) -> ChatError {
        // A phone with another profile is connected.
        if (error.cause as? OfficialCoreError)?.code == .otherDatabase { return error }
        return error.code == .file(.unreachable) || error.code == .file(.timedOut) ? onlyThere : error
    }

    static func error(_ error: any Error) -> OfficialCoreError {
        switch error {
        case let error as OfficialCoreError: return error
        case let error as RemoteControlError:
            let code: OfficialCoreError.Code =
                switch error.code {
                case .closed: .broken
                case .timeout: .timeout
                case .cancelled: .cancelled
                case .notAllowed, .configuration, .limit: .invalidCommand
                case .malformed, .notAuthentic, .incompatible, .identity, .refused: .notUnderstood
                }
            return OfficialCoreError(code, error.sentence, cause: error)
        default: return OfficialCoreError(.system, sentence(of: error), cause: error)
        }
    }

    /// The error for an unexpected answer to a request.
    static func unexpected(_ answer: PhoneAnswer) -> OfficialCoreError {
        switch answer {
        case .refusal(let json): OfficialCoreError(refusal: APIError(json))
        case .failure(.unknownRequest): OfficialCoreError(refusal: unknownCommand)
        case .failure(.damagedFile):
            OfficialCoreError(.notUnderstood, "A file was damaged on its way to the phone.")
        default: OfficialCoreError(.notUnderstood, "The phone could not carry out a request.")
        }
    }

    /// The error for an answer to `storeFile` without a stored file. Each try may leave a file on the phone,
    /// so only a full disk is temporary.
    static func notStored(_ answer: PhoneAnswer) -> OfficialCoreError {
        switch answer {
        case .failure(.noSpace):
            OfficialCoreError(.noSpace, "The phone has no space left for this file.")
        case .failure(.file): OfficialCoreError(.notStored, "The phone could not store this file.")
        case .failure(.damagedFile):
            OfficialCoreError(.damaged, "The file was damaged on its way to the phone.")
        default: unexpected(answer)
        }
    }

    /// Like a core that does not support a command; callers continue without its answer.
    static let unknownCommand = APIError(path: ["error", "commandError"])
}
