@testable import Keeping

extension Target {
    /// What comes from services of the system.
    static let keeping = [
        Target("bus-message", "what the system bus says", longest: 512) { bytes in
            guard let length = try? BusMessage.length(of: bytes) else { return }
            hold(16...BusMessage.maxLength ~= length, "a message is as long as one can be")
            let message = try? BusMessage(bytes)
            hold(message == nil || length == bytes.count, "a message is as long as it says")
        }
    ]
}
