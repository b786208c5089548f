import Base
import SMP

/// A client of a `MemoryRelay`, with injected network failures.
final class MemoryServers: EndingServers {
    private let relay: MemoryRelay
    let client: Int
    private let random: Lock<SystemRandomNumberGenerator>
    let events: AsyncStream<QueueServerEvent>
    /// Called before and after each request; the process may be killed there.
    private let checkpoint: @Sendable () -> Void

    init(_ relay: MemoryRelay, checkpoint: @escaping @Sendable () -> Void = {}) {
        self.relay = relay
        (client, events) = relay.connect()
        random = Lock(SystemRandomNumberGenerator())
        self.checkpoint = checkpoint
    }

    private func happens(_ oneOf: Int) -> Bool {
        oneOf > 0 && random.withLock { Int.random(in: 0..<oneOf, using: &$0) == 0 }
    }

    func ask(_ request: ClientRequest, of server: ServerAddress) async throws(SMPError) -> Answer {
        let chaos = relay.presentChaos
        checkpoint()
        // Long requests are not cancelled; the process has ended.
        while relay.isSilent(server), (try? await Task.sleep(for: .milliseconds(5))) != nil {}
        if happens(chaos.delays) { await Task.yield() }
        if happens(chaos.losesRequests) { throw SMPError(.timedOut, "The server did not answer in time.") }
        if happens(chaos.disconnects) {
            relay.interrupt(client, at: server)
            throw SMPError(.disconnected, "The connection broke off.")
        }
        let answer = try relay.perform(request, of: server, for: client)
        if happens(chaos.repeats) { relay.repeatDeliveries(to: client, of: server) }
        checkpoint()
        if happens(chaos.losesAnswers) { throw SMPError(.timedOut, "The server did not answer in time.") }
        if happens(chaos.disconnects) {
            relay.interrupt(client, at: server)
            throw SMPError(.disconnected, "The connection broke off.")
        }
        if happens(chaos.delays) { await Task.yield() }
        return answer
    }

    func ask(_ requests: [ClientRequest], of server: ServerAddress) async -> [Result<Answer, SMPError>] {
        var answers: [Result<Answer, SMPError>] = []
        for request in requests {
            do throws(SMPError) {
                answers.append(.success(try await ask(request, of: server)))
            } catch {
                answers.append(.failure(error))
            }
        }
        return answers
    }

    /// Ends requests and deliveries, as the end of the process does.
    func end() { relay.forget(client) }
}
