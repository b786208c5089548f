import Base

/// A request on the mount's end of a connection, from its line to its answer.
struct ControlExchange: Sendable {
    let method: ControlMethod
    let channel: ControlChannel
    private let id: Int64
    private let line: [UInt8]

    /// Reads a line. Returns nil after answering one that is no request.
    init?(readingFrom channel: ControlChannel) throws(DesktopError) {
        let line = try channel.readLine()
        let head = ControlChannel.decoded(ControlHead.self, from: line)
        guard let id = head?.id, let method = head?.method.flatMap(ControlMethod.init) else {
            let reason =
                head?.id == nil
                ? "A request is one JSON object a line, with a number as its id."
                : "There is no such method in version \(ControlProtocol.version)."
            try channel.send(ControlAnswer<DoneAnswer>(head?.id, error: ProgramError(.malformed, reason)))
            return nil
        }
        self.method = method
        self.channel = channel
        self.id = id
        self.line = line
    }

    /// Returns the parameters, or nil after answering invalid ones.
    func parameters<Request: ControlRequest>(
        _ type: Request.Type = Request.self
    ) throws(DesktopError) -> Request? {
        do {
            return try ControlChannel.decode(type, from: line)
        } catch {
            try refuse(ProgramError(decoding: error))
            return nil
        }
    }

    /// Carries the request out and sends its result or error. Other errors than `ProgramError` are refusals.
    func answer<Request: ControlRequest>(
        _ body: @escaping @Sendable (Request) async throws -> Request.Answer
    ) throws(DesktopError) {
        guard let request: Request = try parameters() else { return }
        let result = BlockingTask.value { () async -> Result<Request.Answer, ProgramError> in
            do {
                return .success(try await body(request))
            } catch let error as ProgramError {
                return .failure(error)
            } catch {
                return .failure(ProgramError(.refused, sentence(of: error), cause: error))
            }
        }
        switch result {
        case .success(let answer): try send(answer)
        case .failure(let error): try refuse(error)
        }
    }

    /// Like `answer`, for a method that returns nothing.
    func carryOut<Request: ControlRequest>(
        _ body: @escaping @Sendable (Request) async throws -> Void
    ) throws(DesktopError) where Request.Answer == DoneAnswer {
        try answer { (request: Request) in
            try await body(request)
            return DoneAnswer()
        }
    }

    func send(_ answer: some Codable & Hashable & Sendable) throws(DesktopError) {
        do throws(DesktopError) {
            try channel.send(ControlAnswer(id, answer))
        } catch {
            // The result exceeds a line.
            guard error.code == .refused else { throw error }
            try refuse(ProgramError(.refused, "There is too much to tell of it at once."))
        }
    }

    func refuse(_ error: ProgramError) throws(DesktopError) {
        try channel.send(ControlAnswer<DoneAnswer>(id, error: error))
    }
}

extension ProgramError {
    /// Creates the error of parameters that cannot be decoded.
    fileprivate init(decoding error: any Error) {
        switch error {
        case DecodingError.keyNotFound(let key, _):
            self.init(.invalidParameter, "The request names no \(key.stringValue).", cause: error)
        // A member that is null.
        case DecodingError.valueNotFound(_, let context) where context.codingPath.count == 1:
            let name = context.codingPath[0].stringValue
            self.init(.invalidParameter, "The request names no \(name).", cause: error)
        default: self.init(.malformed, "A member of the request is of the wrong type.", cause: error)
        }
    }
}
