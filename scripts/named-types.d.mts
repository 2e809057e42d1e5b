/** `entry: name names Type` of every type in the signature of a public function or class that cannot be imported. */
export function unreachableTypes(): string[];
