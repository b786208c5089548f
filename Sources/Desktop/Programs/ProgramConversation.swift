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
                guard arrived.isReadable else { continue }
                switch request(from: try channel.readLine()) {
                case .failure(let answer): try channel.send(answer)
                case .success(let request) where request.method == .subscribe:
                    if subscription == nil {
                        let wakeUp = try WakeUp()
                        subscription = (service.subscribe { wakeUp.notify() }, wakeUp)
                    }
                    try channel.send(ProgramAnswer(request.id, ProgramResult(done: true)))
                case .success(let request): try channel.send(answer(request))
                }
            }
        } catch {
            // The program is gone or too slow.
            log.debug("program disconnected: error=\(sentenceWithCauses(of: error))")
        }
    }

    private func answer(_ request: ProgramRequest) -> ProgramAnswer {
        BlockingTask.value { [service] in
            do throws(ProgramError) {
                return ProgramAnswer(request.id, try await service.carryOut(request))
            } catch {
                return ProgramAnswer(request.id, error)
            }
        }
    }

    private enum Reading {
        case success(ProgramRequest)
        case failure(ProgramAnswer)
    }

    private func request(from line: [UInt8]) -> Reading {
        if let request = ControlChannel.decoded(ProgramRequest.self, from: line) {
            return .success(request)
        }
        let head = ControlChannel.decoded(RequestHead.self, from: line)
        let reason =
            if head?.id == nil {
                "A request is one JSON object a line, with a number as its id."
            } else if head?.method.flatMap(ProgramRequest.Method.init) == nil {
                "There is no such method in version \(ProgramProtocol.version)."
            } else {
                "A member of the request is of the wrong type."
            }
        return .failure(ProgramAnswer(head?.id, ProgramError(.malformed, reason)))
    }

    /// The part of a request that explains why the rest is invalid.
    private struct RequestHead: Decodable {
        var id: Int64?
        var method: String?
    }
}
