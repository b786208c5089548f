import Base
import Glibc
import Posix

/// One connection of a program. Answers its requests in order and, once it has subscribed, sends events between them.
/// Blocks a thread of its own.
struct ProgramConversation {
    /// Maximum time for a program to accept a line.
    private static let timeout = Duration.seconds(30)

    private let channel: ControlChannel
    private let service: any ProgramService

    init(_ connection: OpenFile, _ service: any ProgramService) {
        channel = ControlChannel(connection, timeout: Self.timeout)
        self.service = service
    }

    /// Runs until the program hangs up, sends invalid input, or the server stops.
    func run() {
        var subscription: (events: any ProgramSubscription, wakeUp: WakeUp)?
        defer { subscription?.events.cancel() }
        do {
            try channel.send(service.greeting)
            while true {
                let arrived = channel.waitForLine(beside: subscription?.wakeUp.descriptor)
                if arrived.isWoken, let subscription {
                    subscription.wakeUp.clear()
                    for event in BlockingTask.value({ await subscription.events.take() }) {
                        try channel.send(event)
                    }
                }
                guard arrived.isReadable, let exchange = try ControlExchange(readingFrom: channel) else {
                    continue
                }
                guard exchange.method == .subscribe else {
                    try exchange.answer { [service] (request: ProgramRequest) in
                        try await service.carryOut(request)
                    }
                    continue
                }
                guard try exchange.parameters(ProgramRequest.self) != nil else { continue }
                if subscription == nil {
                    let wakeUp = try WakeUp()
                    subscription = (service.subscribe { wakeUp.notify() }, wakeUp)
                }
                try exchange.send(ProgramResult(done: true))
            }
        } catch {
            // The program is gone or too slow.
            log.debug("program disconnected: error=\(sentenceWithCauses(of: error))")
        }
    }
}
