import Ratchet

/// Returns nil if the peer's input is unusable, so that the message is acknowledged.
/// - Throws: `.library`, a local failure. The message stays on its server and is retried.
func ifUsable<Value>(_ body: () throws(RatchetError) -> Value) throws(RatchetError) -> Value? {
    do throws(RatchetError) {
        return try body()
    } catch {
        guard error.code == .library else { return nil }
        throw error
    }
}
