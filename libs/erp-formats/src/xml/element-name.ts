/** What B2MML V0701 calls an element nested in its like; up to V06 it had the name of what it stands in. */
const NESTED = new Map([
  ['EquipmentRequirementChild', 'EquipmentRequirement'],
  ['HierarchyScopeChild', 'HierarchyScope'],
  ['SegmentRequirementChild', 'SegmentRequirement'],
]);

/** The name an element is read by, whichever release wrote it: rules and paths have one for all of them. */
export function elementName(written: string): string {
  return written.endsWith('Child') ? (NESTED.get(written) ?? written) : written;
}
