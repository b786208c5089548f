import Ratchet

/// What the ratchet makes of something from outside; nil where that is of no use. Who is waited for in vain would be worse
/// off with an error that passes: what came stays with its server then, and is tried again.
/// - Throws: `.library`, which says nothing of what came.
func ifUsable<Value>(_ body: () throws(RatchetError) -> Value) throws(RatchetError) -> Value? {
    do throws(RatchetError) {
        return try body()
    } catch {
        guard error.code == .library else { return nil }
        throw error
    }
}
