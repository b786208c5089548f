import ChatCore
import CommandLineKit
import Media

/// What is made of a message before a core has it: metadata comes out of its picture where the user wants that, then
/// it gets its preview, which is one of what is sent.
struct MessagePreparation: Sendable {
    private let metadata: MetadataRemover?
    private let previews = PreviewMaker()

    static let option = Option.value(
        "strip-metadata", named: "OF", .choice(MetadataPolicy.allCases.map(\.rawValue)),
        default: MetadataPolicy.never.rawValue,
        "Take place, camera, comments and the like out of JPEG, PNG and WebP pictures that are sent; needs exiftool."
    )

    /// - Throws: where nothing can remove what is to be removed.
    init(_ policy: MetadataPolicy) throws(UsageError) {
        switch policy {
        case .never: metadata = nil
        case .images:
            metadata = MetadataRemover()
            if metadata == nil {
                throw UsageError(
                    "--strip-metadata images needs exiftool: install the package \(MetadataRemover.package)")
            }
        }
    }

    /// Whether metadata is removed.
    var removesMetadata: Bool { metadata != nil }

    /// A file that is made beside the staged one is to be removed with it.
    func completed(_ message: ComposedMessage) async throws(ChatError) -> ComposedMessage {
        await previews.completed(try await metadata?.cleaned(message) ?? message)
    }
}
