/// An outgoing body, the number of its bytes without a frame, and of those that were read.
final class OutgoingBody {
    let source: any BodySource
    var remaining: Int
    var position = 0

    init(source: any BodySource) {
        self.source = source
        remaining = source.length
    }
}
