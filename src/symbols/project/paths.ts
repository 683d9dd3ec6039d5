export const folderOf = (path: string): string => {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
};

export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** A path below a folder, with `.` and `..` resolved. */
export const joinPath = (folder: string, relative: string): string => {
  const parts: string[] = folder === "" ? [] : folder.split("/");
  for (const part of relative.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") parts.pop();
    else parts.push(part);
  }
  return parts.join("/");
};
