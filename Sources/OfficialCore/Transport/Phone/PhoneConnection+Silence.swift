import Network
import RemoteControl

extension PhoneConnection {
    /// Whether the phone can be asked. A silent one would carry out the request much later, after its caller
    /// gave it up.
    var isPresent: Bool { isOpen && !isSilent }

    /// Asks, and gives the request up when the phone falls silent. For requests that may be repeated.
    /// - Throws: as `ask`; `.closed` for a silent phone.
    func askWhileHeard(_ request: PhoneRequest, file: (any BodySink)? = nil) async throws -> PhoneAnswer {
        try await withThrowingTaskGroup(of: PhoneAnswer.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await self.ask(request, file: file) }
            group.addTask {
                while !self.isSilent { try await Task.sleep(for: .milliseconds(200)) }
                throw RemoteControlError(.closed, PhoneErrors.silent.sentence)
            }
            guard let answer = try await group.next() else { throw PhoneErrors.silent }
            return answer
        }
    }
}

extension PhoneCommand {
    /// Whether the phone may get it twice.
    var mayBeRepeated: Bool { effect == .reads || effect == .receives }
}
