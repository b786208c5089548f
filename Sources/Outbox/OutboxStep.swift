/// The points between which a crash may occur.
enum OutboxStep: Hashable, Sendable {
    case created
    case writesRows
    case wroteRows
    case performs(DraftEffect)
    case staged
    case queued
    case handedOver
    case noted
}
