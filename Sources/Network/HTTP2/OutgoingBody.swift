/// An outgoing body and the number of its bytes without a frame.
final class OutgoingBody {
    let source: any BodySource
    var remaining: Int

    init(source: any BodySource) {
        self.source = source
        remaining = source.length
    }
}
