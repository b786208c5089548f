/// A body on its way out, and how much of it has no frame yet.
final class OutgoingBody {
    let source: any BodySource
    var remaining: Int

    init(source: any BodySource) {
        self.source = source
        remaining = source.length
    }
}
