import Base

/// Requests for one message are carried out one after the other: a repetition finds what became of the first.
final class SendsInTurn: Sendable {
    private let last = Lock<[String: Task<ControlReply, Never>]>([:])

    func run(
        _ id: String, _ body: @escaping @Sendable () async -> ControlReply
    ) async -> ControlReply {
        let task = last.withLock { last in
            let earlier = last[id]
            let task = Task {
                _ = await earlier?.value
                return await body()
            }
            last[id] = task
            return task
        }
        let reply = await task.value
        last.withLock { if $0[id] == task { $0[id] = nil } }
        return reply
    }
}
