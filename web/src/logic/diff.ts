// What changed: between a row's two images, and between two versions of a schema.

export type FieldChange = "same" | "changed" | "added" | "removed";

export interface FieldDiff {
  name: string;
  before: unknown;
  after: unknown;
  change: FieldChange;
}

function equal(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const a = left as Record<string, unknown>;
  const b = right as Record<string, unknown>;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && equal(a[name], b[name]));
}

type Row = Record<string, unknown> | null | undefined;

/** Field by field. A missing image (insert, delete) is `undefined` in every field. */
export function diffRows(before: Row, after: Row): FieldDiff[] {
  const names = [...new Set([...Object.keys(after ?? {}), ...Object.keys(before ?? {})])];
  return names.map((name) => {
    const inBefore = before !== null && before !== undefined && name in before;
    const inAfter = after !== null && after !== undefined && name in after;
    const left = inBefore ? before[name] : undefined;
    const right = inAfter ? after[name] : undefined;
    let change: FieldChange = "same";
    if (!inBefore) change = "added";
    else if (!inAfter) change = "removed";
    else if (!equal(left, right)) change = "changed";
    return { name, before: left, after: right, change };
  });
}

export interface LineDiff {
  mark: " " | "+" | "-";
  text: string;
}

/** The shortest edit by lines (longest common subsequence); schemas are small. */
export function diffLines(before: string, after: string): LineDiff[] {
  const a = before.split("\n");
  const b = after.split("\n");
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = lengths[i]!;
      row[j] = a[i] === b[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, row[j + 1]!);
    }
  }
  const lines: LineDiff[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ mark: " ", text: a[i]! });
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
      lines.push({ mark: "-", text: a[i]! });
      i += 1;
    } else {
      lines.push({ mark: "+", text: b[j]! });
      j += 1;
    }
  }
  return lines;
}
